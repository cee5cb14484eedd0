// ReadVocabulary: the tokenizer.* keys of a model file, as core/text takes them.
#pragma once

#include <string>

#include "core/base/status.h"
#include "core/model/metadata.h"
#include "core/text/vocab.h"

namespace motley {

// The views in the result are into what `metadata` has mapped. A key of the wrong type is an error that names it;
// a missing one stays empty, and Tokenizer::Create judges it.
StatusOr<VocabSource> ReadVocabulary(const Metadata& metadata);

// The chat template, "" where there is none. A file may have another one for conversations with tools
// (tokenizer.chat_template.tool_use).
StatusOr<std::string> ReadChatTemplate(const Metadata& metadata, bool with_tools);

}  // namespace motley
