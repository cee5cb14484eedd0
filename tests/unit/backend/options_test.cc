#include "core/backend/options.h"

#include <gtest/gtest.h>

namespace motley {
namespace {

motley_str Str(const char* text) {
  return {text, std::char_traits<char>::length(text)};
}

motley_option Row(const char* name, uint32_t type, const char* fallback = "", const char* allowed = "") {
  return {Str(name), Str("doc"), Str(fallback), Str(allowed), type, 0};
}

StatusOr<std::vector<OptionSchema>> Schema(const std::vector<motley_option>& rows) {
  return ReadSchema({rows.data(), rows.size(), sizeof(motley_option), 0});
}

std::vector<OptionSchema> Gpu() {
  return *Schema({Row("streams", MOTLEY_TYPE_I64, "4", "1..16"), Row("share", MOTLEY_TYPE_F64, "0.5", "0..1"),
                  Row("graphs", MOTLEY_TYPE_BOOL, "true"),
                  Row("math", MOTLEY_TYPE_STR, "auto", "auto|f32|bf16"), Row("seed", MOTLEY_TYPE_I64),
                  Row("files", MOTLEY_TYPE_STR_LIST), Row("worker.*.address", MOTLEY_TYPE_STR),
                  Row("worker.*.port", MOTLEY_TYPE_I64, "7420", "1..65535")});
}

std::string ErrorOf(const std::vector<OptionSetting>& settings) {
  const std::vector<OptionSchema> schema = Gpu();
  const StatusOr<OptionValues> values = ResolveOptions("cuda_gb10", schema, settings);
  if (values.ok()) return "";
  EXPECT_EQ(values.status().code(), Code::kInvalidArgument);
  return values.status().message();
}

std::string Text(const char* text) {
  return text;
}

TEST(Options, FallbacksFillWhatIsNotSet) {
  const std::vector<OptionSchema> schema = Gpu();
  const StatusOr<OptionValues> values =
      ResolveOptions("cuda_gb10", schema, std::vector<OptionSetting>{{"streams", int64_t{16}, ""}});
  ASSERT_TRUE(values.ok()) << values.status().ToString();
  EXPECT_EQ(values->size(), 4u);
  EXPECT_EQ(std::get<int64_t>(values->Find("streams")->value), 16);
  EXPECT_EQ(std::get<double>(values->Find("share")->value), 0.5);
  EXPECT_EQ(std::get<bool>(values->Find("graphs")->value), true);
  EXPECT_EQ(std::get<std::string>(values->Find("math")->value), "auto");
  EXPECT_EQ(values->Find("seed"), nullptr);
}

TEST(Options, ValuesReachThePluginWithTheirTypes) {
  const std::vector<OptionSchema> schema = Gpu();
  StatusOr<OptionValues> resolved =
      ResolveOptions("cuda_gb10", schema,
                     std::vector<OptionSetting>{
                         {"share", int64_t{1}, ""}, {"graphs", false, ""}, {"math", Text("f32"), ""}});
  ASSERT_TRUE(resolved.ok());
  const OptionValues values = *std::move(resolved);  // texts stay where the values point, also when moved
  const motley_span span = values.span();
  ASSERT_EQ(span.count, 4u);
  ASSERT_EQ(span.stride, sizeof(motley_value));
  const motley_value* v = static_cast<const motley_value*>(span.data);  // by name
  EXPECT_EQ(std::string(v[0].name.data, v[0].name.size), "graphs");
  EXPECT_EQ(v[0].type, MOTLEY_TYPE_BOOL);
  EXPECT_EQ(v[0].u.i, 0);
  EXPECT_EQ(v[1].type, MOTLEY_TYPE_STR);
  EXPECT_EQ(std::string(v[1].u.s.data, v[1].u.s.size), "f32");
  EXPECT_EQ(v[2].type, MOTLEY_TYPE_F64);  // a whole number is a number
  EXPECT_EQ(v[2].u.f, 1.0);
  EXPECT_EQ(v[3].type, MOTLEY_TYPE_I64);
  EXPECT_EQ(v[3].u.i, 4);
}

TEST(Options, FieldFailure_C01_ErrorsNamePlaceValueAndFix) {
  EXPECT_EQ(ErrorOf({{"streams", int64_t{0}, "motley.toml:9:11"}}),
            "motley.toml:9:11: plugin.cuda_gb10.streams = 0: must be 1..16");
  EXPECT_EQ(ErrorOf({{"streams", int64_t{17}, ""}}), "plugin.cuda_gb10.streams = 17: must be 1..16");
  EXPECT_EQ(ErrorOf({{"streams", Text("8"), "t.toml:1:1"}}),
            "t.toml:1:1: plugin.cuda_gb10.streams = \"8\": must be a whole number, 1..16");
  EXPECT_EQ(ErrorOf({{"streams", 2.5, ""}}), "plugin.cuda_gb10.streams = 2.5: must be a whole number, 1..16");
  EXPECT_EQ(ErrorOf({{"share", 1.25, ""}}), "plugin.cuda_gb10.share = 1.25: must be 0..1");
  EXPECT_EQ(ErrorOf({{"graphs", int64_t{1}, ""}}), "plugin.cuda_gb10.graphs = 1: must be true or false");
  EXPECT_EQ(ErrorOf({{"math", Text("f23"), ""}}),
            "plugin.cuda_gb10.math = \"f23\": must be one of auto, f32, bf16; did you mean \"f32\"?");
  EXPECT_EQ(ErrorOf({{"steams", int64_t{2}, ""}}),
            "plugin.cuda_gb10.steams = 2: unknown option; did you mean \"streams\"?");
  EXPECT_EQ(ErrorOf({{"seed", int64_t{1}, ""}, {"seed", int64_t{2}, ""}}),
            "plugin.cuda_gb10.seed = 2: set twice");
  EXPECT_EQ(ErrorOf({{"files", Text("a"), ""}}),
            "plugin.cuda_gb10.files = \"a\": must be a list of texts, [\"...\"]");
}

TEST(Options, NotANumberIsNoNumber) {
  EXPECT_NE(ErrorOf({{"share", std::numeric_limits<double>::quiet_NaN(), ""}}), "");
  EXPECT_NE(ErrorOf({{"share", std::numeric_limits<double>::infinity(), ""}}), "");
}

TEST(Options, TheHostsKeysAreNoOptions) {
  const std::vector<OptionSchema> schema = Gpu();
  const StatusOr<OptionValues> later =
      ResolveOptions("ref", schema, std::vector<OptionSetting>{{"isolate", true, "m.toml:2:1"}});
  ASSERT_FALSE(later.ok());
  EXPECT_EQ(later.status().code(), Code::kUnimplemented);
  EXPECT_EQ(later.status().message(), "m.toml:2:1: plugin.ref.isolate = true: comes with a later version; take it out");
  for (const char* name : {"enabled", "probe_in_child", "probe_timeout_s"})
    EXPECT_NE(ErrorOf({{name, true, ""}}).find("is the host's"), std::string::npos) << name;
}

TEST(Options, ListsAndIndexedNames) {
  const std::vector<OptionSchema> schema = Gpu();
  const StatusOr<OptionValues> values =
      ResolveOptions("rpc", schema,
                     std::vector<OptionSetting>{{"files.0", Text("a"), ""},
                                                {"files.1", Text("b"), ""},
                                                {"worker.0.address", Text("x"), ""},
                                                {"worker.12.address", Text("y"), ""},
                                                {"worker.12.port", int64_t{99}, ""}});
  ASSERT_TRUE(values.ok()) << values.status().ToString();
  EXPECT_EQ(std::get<std::string>(values->Find("files.1")->value), "b");
  EXPECT_EQ(std::get<int64_t>(values->Find("worker.0.port")->value), 7420);  // each worker has the fallback
  EXPECT_EQ(std::get<int64_t>(values->Find("worker.12.port")->value), 99);
  EXPECT_EQ(values->Find("worker.1.port"), nullptr);
  EXPECT_NE(ErrorOf({{"worker.x.address", Text("a"), ""}}), "");
  EXPECT_NE(ErrorOf({{"worker.01.address", Text("a"), ""}}), "");
  EXPECT_NE(ErrorOf({{"worker.0", Text("a"), ""}}), "");
  EXPECT_EQ(ErrorOf({{"worker.0.port", int64_t{0}, ""}}),
            "plugin.cuda_gb10.worker.0.port = 0: must be 1..65535");
}

TEST(Options, NoSchemaMeansNoOptions) {
  const StatusOr<OptionValues> values =
      ResolveOptions("ref", {}, std::vector<OptionSetting>{{"threads", int64_t{1}, ""}});
  ASSERT_FALSE(values.ok());
  EXPECT_EQ(values.status().message(),
            "plugin.ref.threads = 1: unknown option; known are enabled, probe_in_child, probe_timeout_s");
}

std::string SchemaError(const motley_option& row) {
  const auto schema = Schema({row});
  return schema.ok() ? "" : schema.status().message();
}

TEST(Options, ABadSchemaIsRefused) {
  for (const char* name : {"enabled", "isolate", "probe_in_child", "probe_timeout_s", "isolate.x"}) {
    EXPECT_NE(SchemaError(Row(name, MOTLEY_TYPE_BOOL)).find("that name is the host's"), std::string::npos)
        << name;
  }
  EXPECT_NE(SchemaError(Row("", MOTLEY_TYPE_I64)), "");
  EXPECT_NE(SchemaError(Row("a..b", MOTLEY_TYPE_I64)), "");
  EXPECT_NE(SchemaError(Row("Upper", MOTLEY_TYPE_I64)), "");
  EXPECT_NE(SchemaError(Row("x", 0)), "");
  EXPECT_NE(SchemaError(Row("x", 6)), "");
  EXPECT_NE(SchemaError(Row("x", MOTLEY_TYPE_I64, "", "many")), "");
  EXPECT_NE(SchemaError(Row("x", MOTLEY_TYPE_I64, "", "16..1")), "");
  EXPECT_NE(SchemaError(Row("x", MOTLEY_TYPE_I64, "17", "1..16")), "");
  EXPECT_NE(SchemaError(Row("x", MOTLEY_TYPE_I64, "four")), "");
  EXPECT_NE(SchemaError(Row("x", MOTLEY_TYPE_BOOL, "yes")), "");
  EXPECT_NE(SchemaError(Row("x", MOTLEY_TYPE_STR, "c", "a|b")), "");
  EXPECT_EQ(SchemaError(Row("x", MOTLEY_TYPE_I64, "17", "1..")), "");
  EXPECT_EQ(SchemaError(Row("x", MOTLEY_TYPE_I64, "8", "4|8|16")), "");

  motley_option flagged = Row("x", MOTLEY_TYPE_I64);
  flagged.flags = 1;
  EXPECT_NE(SchemaError(flagged).find("unknown flags"), std::string::npos);
  motley_option null_doc = Row("x", MOTLEY_TYPE_I64);
  null_doc.doc = {nullptr, 3};
  EXPECT_NE(SchemaError(null_doc), "");
  EXPECT_FALSE(Schema({Row("x", MOTLEY_TYPE_I64), Row("x", MOTLEY_TYPE_F64)}).ok());

  const motley_option row = Row("x", MOTLEY_TYPE_I64);
  EXPECT_FALSE(ReadSchema({nullptr, 2, sizeof row, 0}).ok());
  EXPECT_FALSE(ReadSchema({&row, 1, 8, 0}).ok());
  EXPECT_FALSE(ReadSchema({&row, UINT64_MAX, sizeof row, 0}).ok());
  EXPECT_TRUE(ReadSchema({nullptr, 0, 0, 0}).ok());
}

// A later version's rows are longer: the stride says so.
TEST(Options, AStrideThatGrewIsRead) {
  struct Longer {
    motley_option row;
    uint64_t more;
  };
  const Longer rows[2] = {{Row("a", MOTLEY_TYPE_I64), 1}, {Row("b", MOTLEY_TYPE_I64), 2}};
  const auto schema = ReadSchema({rows, 2, sizeof(Longer), 0});
  ASSERT_TRUE(schema.ok());
  EXPECT_EQ((*schema)[1].name, "b");
}

}  // namespace
}  // namespace motley
