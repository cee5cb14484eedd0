// A vocabulary of either kind and a text out of one input. Whatever the vocabulary holds is refused or works;
// where it works, the text of the tokens is the text again, and the streamed text is that of the whole, with
// stop strings and without.
#include <fuzzer/FuzzedDataProvider.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "core/text/detokenizer.h"
#include "core/text/pre_tokenizer.h"
#include "core/text/sentence_piece.h"
#include "core/text/stop_matcher.h"
#include "core/text/tokenizer.h"
#include "tests/unit/text/spm_vocab.h"
#include "tests/unit/text/tiny_vocab.h"

namespace motley {
namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

// All bytes have tokens; the input adds tokens, merges and ids, wild or sound.
void AddFromInput(FuzzedDataProvider* input, test::TinyVocab* vocab) {
  std::vector<std::string> parts = {"a", "b", " ", "\xF0", "\x9F"};
  for (int n = input->ConsumeIntegralInRange(0, 12); n > 0; --n) {
    switch (input->ConsumeIntegralInRange(0, 3)) {
      case 0:
        vocab->AddToken(input->ConsumeRandomLengthString(12),
                        static_cast<TokenType>(input->ConsumeIntegralInRange(0, 7)));
        break;
      case 1: vocab->AddMerge(input->ConsumeRandomLengthString(8)); break;
      case 2: {  // a merge as a real file has it
        const std::string left = parts[input->ConsumeIntegralInRange<size_t>(0, parts.size() - 1)];
        const std::string right = parts[input->ConsumeIntegralInRange<size_t>(0, parts.size() - 1)];
        if (vocab->Find(test::ToAlphabet(left + right)) >= 0) break;
        vocab->Merge(left, right);
        parts.push_back(left + right);
        break;
      }
      default:
        vocab->source.bos_id = input->ConsumeIntegral<int64_t>();
        vocab->source.add_bos = input->ConsumeBool();
    }
  }
}

// The same for SentencePiece: all bytes, and pieces, wild or sound.
void AddFromInput(FuzzedDataProvider* input, test::SpmVocab* vocab) {
  std::string text;
  for (int n = input->ConsumeIntegralInRange(0, 16); n > 0; --n) {
    switch (input->ConsumeIntegralInRange(0, 3)) {
      case 0:
        vocab->Add(input->ConsumeRandomLengthString(12), input->ConsumeFloatingPoint<float>(),
                   static_cast<TokenType>(input->ConsumeIntegralInRange(0, 7)));
        break;
      case 1: {  // what texts are made of too
        text.clear();
        for (int size = input->ConsumeIntegralInRange(1, 6); size > 0; --size) {
          text += input->PickValueInArray({"a", "b", " ", "\u2581", "\u00E9", "<", ">"});
        }
        vocab->Piece(text, input->ConsumeIntegralInRange<int>(-3, 3),
                     static_cast<TokenType>(input->ConsumeIntegralInRange(1, 5)));
        break;
      }
      case 2: vocab->source.add_space_prefix = input->ConsumeBool(); break;
      default:
        vocab->source.bos_id = input->ConsumeIntegralInRange<int64_t>(-1, 300);
        vocab->source.add_bos = input->ConsumeBool();
    }
  }
}

void CheckStream(FuzzedDataProvider* input, const Tokenizer& tokenizer, const std::vector<int32_t>& ids,
                 const std::string& whole) {
  auto stops = StopMatcher::Create({input->ConsumeRandomLengthString(6), "ab", "\n\n"});
  StopMatcher matcher = stops.ok() ? *std::move(stops) : StopMatcher();
  Detokenizer detokenizer(&tokenizer, /*show_control=*/true);
  std::string streamed, stopped, piece;
  for (const int32_t id : ids) {
    piece.clear();
    detokenizer.Push(id, &piece);
    Require(IsValidUtf8(piece));
    streamed += piece;
    matcher.Push(piece, &stopped);
    Require(IsValidUtf8(stopped) && whole.compare(0, stopped.size(), stopped) == 0);
  }
  piece.clear();
  detokenizer.Flush(&piece);
  streamed += piece;
  matcher.Push(piece, &stopped);
  matcher.Flush(&stopped);
  Require(streamed == whole);
  Require(matcher.stopped() || stopped == whole);
}

std::string WithSpaces(std::string_view text) {
  std::string out;
  AppendWithSpaces(text, &out);
  return out;
}

void CheckByteLevel(FuzzedDataProvider* input) {
  const auto names = PreTokenizer::KnownNames();
  test::TinyVocab vocab(names[input->ConsumeIntegralInRange<size_t>(0, names.size() - 1)]);
  AddFromInput(input, &vocab);
  const auto tokenizer = Tokenizer::Create(vocab.source);
  if (!tokenizer.ok()) return;

  EncodeOptions options;
  options.add_bos = false;
  options.parse_special = input->ConsumeBool();
  const std::string first = input->ConsumeRandomLengthString(300);
  const std::string text = first + input->ConsumeRandomLengthString(300);
  const auto ids = tokenizer->Encode(text, options);
  Require(ids.ok());
  std::string bytes;
  for (const int32_t id : *ids) {
    bytes += tokenizer->TokenBytes(id);
    Require(options.parse_special || !tokenizer->IsControl(id));
  }
  Require(bytes == text);
  CheckStream(input, *tokenizer, *ids, ToValidUtf8(text));

  // Trust in a part of the text only.
  const auto segmented =
      tokenizer->EncodeSegments({{first, true}, {text.substr(first.size()), false}}, options);
  Require(segmented.ok());
  size_t at = 0;
  for (const int32_t id : *segmented) {
    at += tokenizer->TokenBytes(id).size();
    Require(!tokenizer->IsControl(id) || at <= first.size());
  }
  Require(at == text.size());
}

void CheckSentencePiece(FuzzedDataProvider* input) {
  test::SpmVocab vocab;
  AddFromInput(input, &vocab);
  const auto tokenizer = Tokenizer::Create(vocab.source);
  if (!tokenizer.ok()) return;

  EncodeOptions options;
  options.add_bos = false;
  options.parse_special = input->ConsumeBool();
  const std::string text = input->ConsumeRandomLengthString(600);
  const auto ids = tokenizer->Encode(text, options);
  Require(ids.ok());
  for (const int32_t id : *ids) Require(options.parse_special || !tokenizer->IsControl(id));
  const std::string whole = Decode(*tokenizer, *ids, /*show_control=*/true);
  Require(WithSpaces(whole) == WithSpaces(ToValidUtf8(text)));
  CheckStream(input, *tokenizer, *ids, whole);

  const auto untrusted = tokenizer->EncodeSegments({{text, false}}, options);
  Require(untrusted.ok());
  for (const int32_t id : *untrusted) Require(!tokenizer->IsControl(id));
}

}  // namespace
}  // namespace motley

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FuzzedDataProvider input(data, size);
  if (input.ConsumeBool()) {
    motley::CheckSentencePiece(&input);
  } else {
    motley::CheckByteLevel(&input);
  }
  return 0;
}
