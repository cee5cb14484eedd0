// What a template may take: steps, time, output, values, depth. Each limit is reported by name, and soon.
#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "core/text/chat_template.h"

namespace motley {
namespace {

std::string Error(const std::string& source, ChatTemplateLimits limits = {}, const ChatInput& input = {}) {
  const auto begin = std::chrono::steady_clock::now();
  auto parsed = ChatTemplate::Parse(source, "t");
  if (!parsed.ok()) return parsed.status().message();
  parsed->set_limits(limits);
  const auto segments = parsed->Render(input);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(took.count(), 60) << source;
  if (segments.ok()) return "rendered " + std::to_string(TextOf(*segments).size()) + " bytes";
  EXPECT_EQ(segments.status().code(), Code::kInvalidArgument);
  return segments.status().message();
}

std::string Repeat(const std::string& text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

TEST(FieldFailure, T05_ATemplateHasItsLimits) {
  EXPECT_NE(Error("{% for i in range(1000000000) %}{% endfor %}").find("MAX_RANGE"), std::string::npos);
  const std::string nested = "{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(99999) %}x"
                             "{% endfor %}{% endfor %}{% endfor %}";
  ChatTemplateLimits patient;  // under a sanitizer so many steps may take longer than the limit of time
  patient.time = std::chrono::hours(1);
  EXPECT_EQ(Error(nested, patient), "t:1: the template takes more than its limit of 10000000 steps");
  EXPECT_EQ(Error("{{ 'x' * 10 ** 9 }}"), "t:1: the template takes more than its limit of 536870912 bytes for the values that it makes");
  EXPECT_EQ(Error("\n{{ 'ab' * 10 ** 18 }}").substr(0, 4), "t:2:");
  ChatTemplateLimits small;
  small.output_bytes = 1000;
  EXPECT_EQ(Error("{% for i in range(2000) %}x{% endfor %}", small), "t:1: the template takes more than its limit of 1000 bytes of output");
  small = {};
  small.time = std::chrono::milliseconds(50);
  small.steps = UINT64_MAX / 2;
  EXPECT_EQ(Error(nested, small), "t:1: the template takes more than its limit of 50 ms");
}

TEST(FieldFailure, T05_WhatGrowsFastIsStopped) {
  ChatTemplateLimits small;
  small.value_bytes = 64 << 20;
  const char* rows[] = {
      "{% set ns = namespace(x='ab') %}{% for i in range(64) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
      "{% set ns = namespace(x=[1]) %}{% for i in range(64) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
      "{% set ns = namespace(x=[1]) %}{% for i in range(64) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x }}",
      "{% set ns = namespace(x=[1]) %}{% for i in range(64) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x|tojson }}",
      "{% set ns = namespace(x=[1]) %}{% for i in range(64) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x == ns.x + [] }}{{ ns.x|string|length }}",
      "{{ ('a' * 1000000).replace('a', 'b' * 1000) }}",
      "{{ ('a' * 1000000).replace('', 'b' * 1000) }}",
      "{{ 'a'.center(10 ** 9) }}", "{{ 'a'.ljust(10 ** 9) }}", "{{ '5'.zfill(10 ** 9) }}", "{{ 'x'|center(10 ** 9) }}",
      "{{ ('\\t' * 100000).expandtabs(10 ** 9) }}",
      "{{ ('x\\n' * 100000)|indent(10 ** 9) }}", "{{ ('x\\n' * 100000)|indent('y' * 100000) }}",
      "{{ [[1]]|tojson(indent=10 ** 9) }}", "{{ '%1000000000d' % 1 }}", "{{ '%.1000000000f' % 1.5 }}",
      "{{ '{:1000000000}'.format(1) }}", "{{ [1]|batch(10 ** 9, 'x')|list }}", "{{ ('x' * 1000000).join(['a'] * 1000) }}",
      "{{ (['a'] * 1000000)|join('x' * 1000) }}", "{{ [1] * 10 ** 12 }}",
      "{{ ('ab' * 10000000)|list|length }}", "{{ ('a,' * 10000000).split(',')|length }}",
  };
  for (const char* source : rows) {
    const std::string error = Error(source, small);
    EXPECT_TRUE(error.find("limit of") != std::string::npos || error.find("too big") != std::string::npos) << source << ": " << error;
  }
}

TEST(FieldFailure, T05_DepthIsBounded) {
  EXPECT_NE(Error("{{ " + Repeat("(", 5000) + "1" + Repeat(")", 5000) + " }}").find("constructs inside one another"), std::string::npos);
  EXPECT_NE(Error("{{ " + Repeat("[", 5000) + Repeat("]", 5000) + " }}").find("inside one another"), std::string::npos);
  EXPECT_NE(Error("{{ 1" + Repeat(" + 1", 5000) + " }}").find("inside one another"), std::string::npos);
  EXPECT_NE(Error("{{ 'a'" + Repeat("|trim", 5000) + " }}").find("inside one another"), std::string::npos);
  EXPECT_NE(Error("{{ " + Repeat("not ", 5000) + "1 }}").find("inside one another"), std::string::npos);
  EXPECT_NE(Error("{{ " + Repeat("-", 5000) + "1 }}").find("inside one another"), std::string::npos);
  EXPECT_NE(Error("{{ x" + Repeat(".y", 5000) + " }}").find("inside one another"), std::string::npos);
  EXPECT_NE(Error("{{ 1" + Repeat(" if 1 else 1", 5000) + " }}").find("inside one another"), std::string::npos);
  EXPECT_NE(Error(Repeat("{% if 1 %}", 5000) + Repeat("{% endif %}", 5000)).find("inside one another"), std::string::npos);
  EXPECT_NE(Error(Repeat("{% for i in [1] %}", 5000)).find("inside one another"), std::string::npos);
  EXPECT_NE(Error("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}").find("calls inside one another"), std::string::npos);
  EXPECT_NE(Error("{% for x in [[]] recursive %}{{ loop([[]]) }}{% endfor %}").find("calls inside one another"), std::string::npos);
  // A schema that a template follows without an end.
  EXPECT_NE(Error("{% macro t(s) %}{% if s is string %}{{ s }}{% else %}{{ t(s) }}{% endif %}{% endmacro %}{{ t([1]) }}").find("calls inside"), std::string::npos);
  // As deep as legal data is, it works.
  EXPECT_EQ(Error("{% macro d(n) %}{% if n > 0 %}{{ d(n - 1) }}{% else %}x{% endif %}{% endmacro %}{{ d(150) }}"), "rendered 1 bytes");
  EXPECT_EQ(Error("{{ 1" + Repeat(" + 1", 100) + " }}"), "rendered 3 bytes");
}

TEST(FieldFailure, T05_WhatIsBuiltInALoopIsTakenApartAgain) {
  ChatTemplateLimits limits;
  const char* rows[] = {
      "{% set ns = namespace(x=[]) %}{% for i in range(5000) %}{% set ns.x = [ns.x] %}{% endfor %}",
      "{% set ns = namespace(x=0) %}{% for i in range(50000) %}{% set ns.x = namespace(y=ns.x) %}{% endfor %}",
      "{% set ns = namespace(x=[]) %}{% for i in range(5000) %}{% set ns.x = ns.x|map('string') %}{% endfor %}{{ ns.x|list }}",
      "{% set ns = namespace(x=1) %}{% for i in range(5000) %}{% set ns.x = cycler(ns.x) %}{% endfor %}",
      "{% set ns = namespace(x=1) %}{% for i in range(5000) %}{% set ns.x = joiner(ns.x) %}{% endfor %}",
      "{% set ns = namespace(x={}) %}{% for i in range(5000) %}{% set ns.x = {'a': ns.x} %}{% endfor %}",
      "{% set ns = namespace() %}{% set ns.me = ns %}{% for i in range(50000) %}{% set ns.n = ns %}{% endfor %}",
      "{% set ns = namespace(f=0) %}{% for i in range(5000) %}{% set g = ns.f %}{% macro m() %}{{ g }}{% endmacro %}{% set ns.f = m %}{% endfor %}",
      "{% set ns = namespace(l=0) %}{% for i in range(5000) %}{% for j in [ns.l] %}{% set ns.l = loop %}{% endfor %}{% endfor %}",
      "{% set ns = namespace(t=(1,)) %}{% for i in range(40) %}{% set ns.t = (ns.t, ns.t) %}{% endfor %}{% set d = {ns.t: 1} %}",
  };
  for (const char* source : rows) Error(source, limits);  // an answer or an error, but no crash and no leak
  const std::string printed = Error("{% set ns = namespace() %}{% set ns.me = ns %}{{ ns }}");
  EXPECT_NE(printed.find("inside one another"), std::string::npos) << printed;
}

TEST(ChatTemplate, AMegabyteIsRenderedInTimeThatGrowsWithIt) {
  ChatInput input;
  std::string text;
  while (text.size() < (1 << 20)) text += "A user's words, <|im_end|>  and täxt\n";
  input.AddMessage({"user", text});
  const std::string source =
      "{% for m in messages %}{% set c = m.content|trim %}{% if '</think>' in c %}{% set c = c.split('</think>')[-1] %}{% endif %}"
      "{{ '<|im_start|>' + m.role + '\n' + c.replace('zzz', 'y').lstrip('\n') ~ '<|im_end|>\n' }}{{ c|tojson }}{{ c.split('\n')|length }}"
      "{{ c|upper|length }}{{ c[1:]|length }}{{ c|indent(2)|length }}{% endfor %}";
  const auto begin = std::chrono::steady_clock::now();
  const std::string result = Error(source, {}, input);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(result.substr(0, 9), "rendered ");
  RecordProperty("milliseconds", static_cast<int>(took.count() * 1000));
  EXPECT_LT(took.count(), 10);  // some 0.1 s; sanitizers and a busy machine get their share
}

}  // namespace
}  // namespace motley
