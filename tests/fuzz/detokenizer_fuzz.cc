// Ids out of the input, known and unknown, over vocabularies of both kinds: what comes out is UTF-8 at every
// step, and prompt and answer, wherever they are cut, read as the whole.
#include <fuzzer/FuzzedDataProvider.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "core/text/detokenizer.h"
#include "core/text/tokenizer.h"
#include "core/text/utf8.h"
#include "tests/unit/text/spm_vocab.h"
#include "tests/unit/text/tiny_vocab.h"

namespace motley {
namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

Tokenizer MakeByteLevel() {
  test::TinyVocab vocab;
  vocab.AddToken("<|im_start|>", TokenType::kControl);
  vocab.AddToken("<tool>", TokenType::kUserDefined);
  vocab.AddToken("\u4E2D", TokenType::kUnused);
  vocab.Word(" \xF0\x9F");
  vocab.Word("\x98\x80\n");
  return *Tokenizer::Create(vocab.source);
}

Tokenizer MakeSentencePiece() {
  test::SpmVocab vocab;
  vocab.Piece(" ", -1);
  vocab.Piece("  ", -2);
  vocab.Piece(" a", -3);
  vocab.Piece("\u4E2D", -4);
  vocab.Add("<tool>", 0, TokenType::kUserDefined);
  vocab.Add("\u2581\u2581\u2581", 0, TokenType::kUserDefined);
  vocab.Add("", 0);
  return *Tokenizer::Create(vocab.source);
}

}  // namespace
}  // namespace motley

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace motley;
  static const Tokenizer kByteLevel = MakeByteLevel(), kSentencePiece = MakeSentencePiece();
  FuzzedDataProvider input(data, size);
  const Tokenizer& tokenizer = input.ConsumeBool() ? kByteLevel : kSentencePiece;
  const bool show_control = input.ConsumeBool();
  std::vector<int32_t> ids;
  while (input.remaining_bytes() > 0 && ids.size() < 1000) {
    ids.push_back(input.ConsumeIntegralInRange<int32_t>(-2, tokenizer.vocab_size() + 1));
  }
  const std::string whole = Decode(tokenizer, ids, show_control);
  Require(IsValidUtf8(whole));

  Detokenizer prompt(&tokenizer, show_control);
  std::string begun;  // of the prompt
  for (size_t cut = 0; cut < ids.size(); ++cut) {
    std::string piece;
    prompt.Push(ids[cut], &piece);
    Require(IsValidUtf8(piece));
    begun += piece;
    Require(whole.compare(0, begun.size(), begun) == 0);
    if (prompt.held_back() || !tokenizer.IsValid(ids[cut]) || cut % 7 != 0) continue;
    Detokenizer answer(&tokenizer, show_control);
    answer.Continue(ids[cut]);
    std::string rest;
    for (size_t i = cut + 1; i < ids.size(); ++i) answer.Push(ids[i], &rest);
    answer.Flush(&rest);
    Require(begun + rest == whole);
  }
  return 0;
}
