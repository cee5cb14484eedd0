"""Small templates, each for one rule of the language. Rendered by make.py over CONTEXT."""

CONTEXT = {
    "s": "Hello, Wörld ", "n": 7, "f": 2.5, "neg": -7, "zero": 0, "t": True, "none": None, "empty": [], "blank": "",
    "big": 123456789012345678901234567890, "l": [3, 1, 2], "words": ["b", "A", "c", "a"], "d": {"b": 1, "a": 2, "items": 3},
    "rows": [{"k": "x", "v": 2}, {"k": "y", "v": 1}, {"k": "x", "v": 3}, {"v": 0}],
    "tree": [{"n": 1, "c": [{"n": 2, "c": []}, {"n": 3, "c": [{"n": 4, "c": []}]}]}],
    "u": "ǅ ß ﬁ Σίσυφος ΑΣ İ \u00a0\u2003 汉字 👩‍👧", "multi": "one\ntwo\r\n\n  three\vfour\x1cfive\u2028six\n", "attr": "<a href='x'>&\"",
    "nested": {"a": [1, 2.0, None, True, "q'\"", {"z": [], "y": {}}]}, "floats": [0.1, 1e16, 1e15, 1e-5, 1e-4, 1e22, 1e-7, 123456.789, -0.0, 3.0],
    "ctl": "\x00\x1f\x7f\x85\u200b\ue000é\U0001f600\U000e0001",
}

EXPRESSIONS = r"""
s
s|upper ~ s|lower ~ s|title ~ s|capitalize
u|upper
u|lower
u|title
u|capitalize
u.title() ~ u.swapcase() ~ u.capitalize()
'ΑΣ Σ ΣΑ ΑΣ.'|lower ~ 'aΣ1'.lower() ~ "aΣ'b".lower()
s[0] ~ s[-1] ~ s[1:3] ~ s[:-1] ~ s[-3:] ~ s[::-1] ~ s[::2] ~ s[5:1:-1] ~ s[100:] ~ s[:100] ~ s[-100:2]
u[0] ~ u[-1] ~ u[2:9] ~ u[::-1] ~ u|length
l[0] ~ l[-1] ~ l[1:] ~ l[::-1] ~ l[:1] ~ l[5:] ~ l[-2:]
l[7] is defined ~ '' ~ (l[-9] is defined) ~ (d.zz is defined) ~ (s[99] is defined)
(1, 2)[0] ~ (1, 2)[::-1] ~ (1,) ~ ()
n + 1, n - 10, n * 2, n / 2, n // 2, n % 3, n ** 2
neg // 2, neg % 3, -7 // -2, 7 // -2, 7 % -3, -7 % -3
f + 1, f * 2, f / 2, f // 2, f % 2, -f // 2, -f % 2, 5.5 // -2, 5.5 % -2
2 ** 10, 2 ** -1, 2.0 ** 0.5, 4 ** 0.5, 0 ** 0, -2 ** 2, 2 ** 3 ** 2
1 / 3, 10 / 5, 7 / 7.0, 1e3, 1.5e-7, 100000000000000000.0, 0.1 + 0.2
floats
floats|tojson
big, big|string, big|tojson, big == big, big > 1, -big, big|abs
True, false, none, None, true + 1, true * 3, -true
1 == 1.0, '1' == 1, [1] == [1], (1,) == [1], {} == {}, none == false, 1 < 2 < 3, 1 < 3 < 2, 3 > 2 >= 2
1 in [1, 2], 'a' in 'abc', 'a' in {'a': 1}, 4 not in l, none in [none], '' in 'x', 1.0 in [1]
'a' < 'b', 'a' < 'B', [1, 2] < [1, 3], [1] < [1, 0], 'é' > 'z'
not 1, not '', not none, not [], not {}, not 0.0, not undefinedthing, not (1,)
1 and 2, 0 and 2, '' or 'x', none or 0 or [], 1 or x.y.z
'a' if t else 'b', 'a' if zero else 'b', ('a' if zero), ('x' if false) ~ '|'
n if n > 5 else 'small' if n else 'zero'
1 if 0 else 2 if 0 else 3
'a' ~ 1 ~ 2.0 ~ none ~ true ~ [1] ~ {'a': 'b'} ~ undefinedthing
'a' + 'b' * 3, 3 * 'ab', [1] * 2 + [3], (1,) + (2, 3), 'x' * 0, 'x' * -1
'%s and %d and %05.2f and %x and %%' % ('a', 5, 3.14159, 255)
'%(a)s %(b)r' % {'a': 'x', 'b': 'y'}
'%s' % 'one', '%s' % [1, 2], '%s' % (1,), '%10s|%-10s|%.2s' % ('ab', 'cd', 'xyz'), '%+d % d %#x %c %c' % (5, 5, 255, 65, 'z')
'%e %g %G %s' % (12345.678, 0.00001, 1e20, 1e20)
'%5d|%-5d|%05d|%i|%u' % (42, 42, -42, 4.9, 5)
'{} {} {}'.format(1, 'a', none), '{0} {1} {0}'.format('x', 'y'), '{a} {b}'.format(a=1, b=2)
'{:>8}|{:<8}|{:^8}|{:*^8}|{:08.3f}|{:,}|{:_}|{:+}|{:%}|{:x}|{:#o}|{:b}'.format('a', 'b', 'c', 'd', 3.14159, 1234567, 1234567, 5, 0.5, 255, 8, 5)
'{0[a]} {1.k} {2[0]}'.format({'a': 1}, {'k': 2}, [3]), '{{}} {{{}}}'.format(1)
'{!r} {!s} {:{}}'.format('q', 'q', 'x', 5)
'{:.3} {:10.4} {:e} {:g} {:.0f} {:n}'.format('abcdef', 3.14159, 12345.6, 0.00001, 2.5, 5)
s.strip() ~ '|' ~ s.lstrip() ~ '|' ~ s.rstrip() ~ '|' ~ 'xxaxx'.strip('x') ~ 'abcba'.lstrip('ab') ~ 'abcba'.rstrip('ab') ~ '\n a \t'.strip()
'\u00a0\u2003a\x1c\x1f\x85'.strip()|length, ('\u200ba'.strip())|length, u.strip()|length
s.split(), 'a,b,,c'.split(','), 'a,b,,c'.split(',', 1), ' a  b '.split(' '), ''.split(), ''.split(','), 'a b c'.split(none, 1), ' a b  c '.split(maxsplit=1)
'a,b,,c'.rsplit(',', 1), ' a b  c '.rsplit(none, 1), 'a--b--c'.rsplit('--', 1), 'abc'.rsplit('x')
multi.splitlines(), multi.splitlines(true), ''.splitlines(), '\n'.splitlines(), 'a\n\nb'.splitlines()
'abcabc'.replace('b', 'XX'), 'abcabc'.replace('b', 'X', 1), 'abc'.replace('', '-'), 'abc'.replace('', '-', 2), ''.replace('', 'x')
'abcabc'.find('c'), 'abcabc'.rfind('c'), 'abc'.find('z'), 'abc'.index('b'), 'wörd'.find('d'), 'abcabc'.find('a', 1), 'abcabc'.find('a', -3, 99), 'abc'.find('')
'abc'.startswith('a'), 'abc'.startswith(('x', 'a')), 'abc'.endswith('bc'), 'abc'.startswith('b', 1), 'abc'.endswith('b', 0, 2), ''.startswith('')
'abcabc'.count('a'), 'aaa'.count('aa'), 'abc'.count(''), 'ab'.join(['1', '2', '3']), ''.join([]), '-'.join('abc')
'a'.center(5) ~ '|' ~ 'ab'.center(5, '*') ~ '|' ~ 'abc'.ljust(5, '.') ~ '|' ~ 'abc'.rjust(5) ~ '|' ~ '42'.zfill(5) ~ '|' ~ '-4'.zfill(5)
'a\tb\tc'.expandtabs(4), 'prefix-x'.removeprefix('prefix-'), 'x.txt'.removesuffix('.txt'), 'a-b-c'.partition('-'), 'a-b-c'.rpartition('-'), 'abc'.partition('x')
'abc'.isalpha(), 'a1'.isalnum(), '12'.isdigit(), '١٢'.isdigit(), '½'.isnumeric(), ' '.isspace(), ''.isspace(), 'Abc'.istitle(), 'ABC'.isupper(), 'abc'.islower(), 'a b'.isidentifier(), 'é'.isascii(), '\n'.isprintable()
d.items(), d.keys(), d.values(), d.items()|list, d['items'], d.get('a'), d.get('z'), d.get('z', 5), d|length
d, d|string, d|tojson, nested, nested|tojson, nested|tojson(indent=2)
nested|tojson(indent=0), [1, [2, {'a': []}]]|tojson(indent=1, separators=(',', ':')), {}|tojson(indent=2), []|tojson(indent=2)
{'b': 1, 'a': [1, 2]}|tojson(sort_keys=true), {'b': 1, 'a': 2}|tojson(separators=(',', ':')), 'é<>&\'"'|tojson, 'é\U0001f600\x7f'|tojson(ensure_ascii=true), attr|tojson, ctl|tojson, ctl|tojson(ensure_ascii=true)
{1: 'a', 2.5: 'b', true: 'c', none: 'd'}|tojson, (1, 2)|tojson, none|tojson, true|tojson, 1.0|tojson, 'x'|safe|tojson
[ctl, u, attr], {'k': ctl}, ['a\\b\n\t\r', "it's", 'say "hi"', "both ' and \""]
l|sort, l|sort(reverse=true), words|sort, words|sort(case_sensitive=true), rows|sort(attribute='v')|map(attribute='v')|list, [3, 1, 2]|sort|first
rows|selectattr('k')|map(attribute='k')|list, rows|selectattr('k', 'equalto', 'x')|list|length, rows|rejectattr('k', 'defined')|list, rows|selectattr('v', '>', 1)|map(attribute='v')|join('+')
rows|map(attribute='k', default='none')|join(','), words|map('upper')|join, l|map('string')|list, l|select('odd')|list, l|reject('odd')|list, l|select|list, [0, 1]|select|list
rows|groupby('k', default='?')|map(attribute='grouper')|list, rows|groupby('v')|length, words|groupby('0')|list
words|unique|list, words|unique(case_sensitive=true)|list, [1, 1.0, true, 2]|unique|list
l|min, l|max, words|min, words|max(case_sensitive=true), empty|min is undefined, rows|max(attribute='v')
l|sum, rows|sum(attribute='v'), [[1], [2]]|sum(start=[]), []|sum, l|sum(start=10)
l|first, l|last, empty|first is undefined, empty|last is undefined, 'abc'|first, 'abc'|last, d|first, d|last
l|reverse|list, 'abc'|reverse, d|reverse|list, (1, 2)|reverse|list
l|join(', '), l|join, words|join('-'), [1, none, 'x']|join('|'), rows|join(',', attribute='v'), 'abc'|join('.')
l|length, 'äb'|length, d|count, empty|length, undefinedthing|length
[1, 2, 3, 4, 5]|batch(2)|list, [1, 2, 3]|batch(2, 'x')|list, [1, 2, 3, 4, 5]|slice(2)|list, [1, 2, 3]|slice(2, 'x')|list
d|dictsort, d|dictsort(by='value'), d|dictsort(reverse=true), {'B': 1, 'a': 2}|dictsort, {'B': 1, 'a': 2}|dictsort(true)
d|items|list, undefinedthing|items|list, d|list, 'abc'|list, (1, 2)|list, 5|string|list
undefinedthing|default('x'), none|default('x'), none|default('x', true), ''|d('x', true), 0|default('x'), undefinedthing|d
'  x '|trim ~ '|', 'xxaxx'|trim('x'), 5|trim, s|trim|length
'a b c'|replace(' ', '_'), 'aaa'|replace('a', 'b', 2), 5|replace('5', '6'), 'x'|replace('x', none)
multi|indent, multi|indent(2, true), multi|indent('> ', first=true, blank=true), ''|indent, 'a'|indent(first=true), 'a\nb'|indent(0)
'5'|int, '5.7'|int, 'x'|int, 'x'|int(9), none|int, [1]|int(3), '0x1f'|int(base=16), '0b11'|int(0, 2), ' 42 '|int, '1_000'|int, 5.9|int, -5.9|int, true|int, '-7'|int
'2.5'|float, 'x'|float, 'x'|float(1.5), none|float, 5|float, '1e3'|float, 'inf'|float, '-Infinity'|float
2.5|round, 3.5|round, 2.567|round(2), 2.5|round(0, 'ceil'), 2.567|round(1, 'floor'), 42.55|round|int, 1234|round(-2), 1250|round(-2), 1350|round(-2), 7|round, -2.5|round, 2.675|round(2), 12345.678|round(-2)
-5|abs, 5.5|abs, -5.5|abs, (-5)|abs, true|abs
'one two  three_4 fünf'|wordcount, ''|wordcount, 'a-b'|wordcount
'foo bar baz qux'|truncate(9), 'foo bar baz qux'|truncate(9, true), 'foo bar baz qux'|truncate(11), 'foo bar baz qux'|truncate(11, false, '...', 0), 'short'|truncate
'x'|center(9) ~ '|', '%s-%s'|format(1, 2), '%(a)s'|format(a=3), 'hello wörld-foo (bar) [baz] {q} <z>'|title
attr|escape, attr|e ~ '', attr|safe, (attr|safe) + '<', '<' + (attr|safe), attr|safe|upper, ('<' ~ (attr|safe)), [attr|safe], (attr|e)|e, attr|safe|forceescape, ('%s' | safe) % '<'
(attr|safe).replace('&', '<'), (attr|safe).split('&'), (',' | safe).join(['<', '>'|safe]), ('a'|safe) * 2, ('<'|safe)|length
n is odd, n is even, n is divisibleby 7, n is divisibleby(2), n is number, f is float, n is integer, t is integer, t is boolean, t is true, t is false, zero is false
s is string, d is mapping, l is sequence, l is iterable, n is iterable, s is sequence, d is sequence, d is iterable, none is none, undefinedthing is undefined, undefinedthing is defined, undefinedthing is sequence, undefinedthing is iterable, (1,) is sequence
s is lower, 'abc' is lower, 'ABC' is upper, n is eq 7, n is gt(5), n is in [7], n is ne 7, n is lt 8, n is ge 7, n is le 6, n is equalto(7), n is greaterthan 1, n is lessthan 1
range is callable, n is callable, n is sameas n, none is sameas none, l is sameas l, 'upper' is filter, 'nope' is filter, 'odd' is test, (attr|safe) is escaped, attr is escaped
n is not odd, not n is odd, n is odd and t, n is even or t, none is not none
range(3), range(3)|list, range(1, 4)|list, range(10, 0, -3)|list, range(0)|list, range(5)[1:3], range(5)[2], range(5)|length, 3 in range(5), range(5)|last, range(3) == range(0, 3)
dict(a=1, b=2), dict({'x': 1}, y=2), dict([('a', 1)]), dict()
'a' 'b' "c", 'tab\there', 'x\x41\u00e9\U0001F600\101', 'back\\slash', 'q\'q', "d\"d", 'unknown \q \d', 'new\nline', '\a\b\f\v\0'|tojson
0x1f, 0b101, 0o17, 1_000, 1_0.5_0, 1e5, 1E+2, 12.5e-1
l.0, l.1, nested.a.5.z, d['a'], d.a, d.items is callable, rows[0].k, rows.0.k
(1, 2, 3), [1, 2,], {'a': 1,}, (1), [[]], {'a': {'b': [1]}}, {1: 2}, {(1, 2): 3}
{'a': 1, 'a': 2}, {1: 'a', 1.0: 'b', true: 'c'}
loop is defined, undefinedthing, undefinedthing ~ 'x', undefinedthing == undefinedother, undefinedthing in [1], [undefinedthing]
cycler('a', 'b').next(), joiner()(), joiner('x').sep
d.items()|sort, d.keys()|list|sort, 'a' in d.keys(), 1 in d.values(), ('a', 2) in d.items(), d.values()|sum
namespace(a=1).a, namespace({'x': 2}).x, namespace(a=1).b is defined, namespace(a=1)
[1, 2, 3][1:]|first, ('a' ~ 'b')|upper, -1|abs, (-1)|abs, - 2 ** 2, 'a' ~ 'b'|upper, 'x'.upper() ~ 'Y'.lower()|upper
{'a': 1}.a, {'a': 1}['a'], 'abc'[1], [1, 2][-1], (1, 2).1, 'abc'.upper()[0], 5 .real, 5.0.is_integer(), (255).bit_length()
l.index(2), l.count(1), (1, 2, 1).count(1), 'a,b'.split(',')[1], 'a' in 'b,a'.split(',')
s|length > 3 and s|upper != s, s.split(',')|map('trim')|list, d|tojson|length, (s|lower)[0]
words|map('replace', 'a', 'z')|list, ['1', '2']|map('int')|sum, rows|map('length')|list, words|select('in', ['a', 'b'])|list, [[1, 2], [3]]|map('first')|list
[[2, 'b'], [1, 'a']]|sort, [(1, 2), (0, 5)]|sort, [[1, 2], [1]]|sort(attribute='0'), [{'a': {'b': 2}}, {'a': {'b': 1}}]|sort(attribute='a.b')|map(attribute='a.b')|list, rows[:3]|sort(attribute='k,v')|map(attribute='v')|list
1.0, 1e100, 123456789.123456789, 1e300 * 1e10, 2 ** 62, 9007199254740993, 0.5e-10, 5e-324, 1.7976931348623157e308
'%.3f' % 2.0005, '%.0f' % 0.5, '%.0f' % 1.5, '%5.1f|' % 3.14159, '%s' % 1e16, '%d' % 1e15, '%r' % 'é\n'
'a' * 3 ~ '-' * 2, 'ab'[::-1] ~ 'ab'[1:] * 2
not true == false, 1 + 1 ~ 2, 2 * 3 ~ 1, 'a' ~ 1 + 1, 1 ~ 2 * 3
none is none and none is not defined, x is defined, x.y is defined if x else 'no x'
""".strip("\n").split("\n")

STATEMENTS = [
    "{% for x in l %}{{ loop.index }}/{{ loop.index0 }}/{{ loop.revindex }}/{{ loop.revindex0 }}/{{ loop.first }}/{{ loop.last }}/{{ loop.length }}:{{ x }} {% endfor %}",
    "{% for x in l %}{{ loop.previtem }}<{{ x }}>{{ loop.nextitem }},{% endfor %}",
    "{% for x in l %}{{ loop.cycle('a', 'b') }}{{ loop.changed(x) }}{{ loop.depth }}{{ loop.depth0 }} {% endfor %}",
    "{% for x in [1, 1, 2, 2, 1] %}{% if loop.changed(x) %}{{ x }}{% endif %}{% endfor %}",
    "{% for x in empty %}x{% else %}none{% endfor %}|{% for x in l %}{{ x }}{% else %}none{% endfor %}",
    "{% for x in l if x > 1 %}{{ loop.index }}{{ loop.length }}{{ x }}{% else %}none{% endfor %}|{% for x in l if x > 9 %}x{% else %}none{% endfor %}",
    "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}{% for k in d %}{{ k }}{% endfor %}",
    "{% for k, v in d|dictsort %}{{ k }}={{ v }};{% endfor %}{% for a, (b, c) in [(1, (2, 3))] %}{{ a }}{{ b }}{{ c }}{% endfor %}",
    "{% for x in 'añb' %}[{{ x }}]{% endfor %}{% for x in range(3) %}{{ x }}{% endfor %}{% for x in undefinedthing %}x{% endfor %}",
    "{% for x in l %}{% for y in words %}{{ loop.index }}{{ x }}{{ y }}{% endfor %}{{ loop.index }}{% endfor %}",
    "{% for x in l %}{% if x == 1 %}{% continue %}{% endif %}{{ x }}{% endfor %}|{% for x in l %}{% if x == 1 %}{% break %}{% endif %}{{ x }}{% endfor %}",
    "{% for x in range(10) %}{% if loop.last %}L{% endif %}{% if loop.index > 3 %}{% break %}{% endif %}{{ x }}{% endfor %}",
    "{% for n in tree recursive %}{{ n.n }}{{ loop.depth }}{% if n.c %}({{ loop(n.c) }}){% endif %}{% endfor %}",
    "{% for n in tree recursive %}[{{ loop.index }}{{ loop(n.c) }}]{% else %}-{% endfor %}",
    "{% set x = 1 %}{% for i in l %}{% set x = x + i %}{{ x }},{% endfor %}{{ x }}",
    "{% set ns = namespace(x=0) %}{% for i in l %}{% set ns.x = ns.x + i %}{% endfor %}{{ ns.x }}",
    "{% set ns = namespace() %}{% set ns.a, b = 1, 2 %}{{ ns.a }}{{ b }}{% set ns.text %}<{{ n }}>{% endset %}{{ ns.text }}",
    "{% if t %}{% set y = 5 %}{% endif %}{{ y }}{% if zero %}{% set z = 5 %}{% endif %}{{ z }}|{{ z is defined }}",
    "{% if zero %}{% set n = 99 %}{% endif %}{{ n }}{% if t %}{% set n = 98 %}{% endif %}{{ n }}",
    "{% for i in [1] %}{{ n }}{% endfor %}{% set n = 5 %}{{ n }}",
    "{{ n }}{% set n = 5 %}{{ n }}{% for i in [1] %}{{ n }}{% set n = 6 %}{{ n }}{% endfor %}{{ n }}",
    "{% for i in l %}{% if loop.first %}{% set seen = i %}{% endif %}{{ seen }};{% endfor %}{{ seen }}",
    "{% for i in l %}{% if i == 1 %}{% set n = i %}{% endif %}{{ n }};{% endfor %}",
    "{% set a, b = (1, 2) %}{{ a }}{{ b }}{% set a = 1, 2 %}{{ a }}{% set (c, d2) = [3, 4] %}{{ c }}{{ d2 }}",
    "{% set x %}a{{ n }}b{% endset %}{{ x }}{% set x | upper | replace('A', 'z') %}a{{ n }}b{% endset %}{{ x }}",
    "{% set x %}{% set n = 3 %}{{ n }}{% endset %}{{ x }}{{ n }}",
    "{% filter upper %}abc{{ s }}{% endfilter %}{% filter replace('a', 'b') | trim %} aaa {% endfilter %}|{% filter indent(2, first=true) %}x\ny{% endfilter %}",
    "{% macro m(a, b=2, c=a) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ m(1) }}{{ m(1, 3) }}{{ m(a=5) }}{{ m(1, c=9) }}{{ m(b=0, a=1) }}",
    "{% macro m(a) %}[{{ a }}{{ a is defined }}]{% endmacro %}{{ m() }}{{ m(none) }}{{ m('x') }}",
    "{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, x=3) }}{{ m() }}",
    "{% macro m(a) %}{{ a }}{{ varargs|join }}{% endmacro %}{{ m(1, 2, 3) }}{{ m(*[4, 5]) }}{{ m(**{'a': 6}) }}",
    "{% macro fact(k) %}{% if k > 1 %}{{ k }}*{{ fact(k - 1) }}{% else %}1{% endif %}{% endmacro %}{{ fact(5) }}",
    "{% macro outer() %}{% macro inner(x) %}<{{ x }}>{% endmacro %}{{ inner(1) }}{{ inner(2) }}{% endmacro %}{{ outer() }}",
    "{% macro m() %}{{ n }}{% set n = 3 %}{{ n }}{% endmacro %}{{ m() }}{{ n }}",
    "{% macro m() %}{{ later }}{% endmacro %}{{ m() }}{% set later = 4 %}{{ m() }}",
    "{% set g = 1 %}{% macro m() %}{{ g }}{% endmacro %}{% set g = 2 %}{{ m() }}{% for i in [1] %}{% set g = 3 %}{{ m() }}{{ g }}{% endfor %}",
    "{% for i in l %}{% macro m() %}{{ i }}{% endmacro %}{{ m() }}{% endfor %}",
    "{% macro m(x) %}({{ caller(x) }}){% endmacro %}{% call(y) m(5) %}got {{ y }}{{ n }}{% endcall %}",
    "{% macro m() %}[{{ caller() }}]{% endmacro %}{% call m() %}a{% call m() %}b{% endcall %}c{% endcall %}",
    "{% macro m() %}{% if caller is defined %}{{ caller() }}{% else %}no{% endif %}{% endmacro %}{{ m() }}{% call m() %}yes{% endcall %}",
    "{% macro m(a, b) %}{% endmacro %}{{ m.name }}{{ m.arguments }}{{ m.catch_kwargs }}{{ m.catch_varargs }}{{ m.caller }}|{{ m(1, 2) }}|",
    "{% with a = 1, b = 2 %}{{ a }}{{ b }}{% set a = 3 %}{{ a }}{% endwith %}{{ a }}{% with %}{% set q = 1 %}{{ q }}{% endwith %}{{ q }}",
    "{% with n = n + 1 %}{{ n }}{% with n = n + 1 %}{{ n }}{% endwith %}{% endwith %}{{ n }}",
    "{% generation %}a{{ n }}{% set gg = 1 %}{% endgeneration %}{{ gg }}",
    "{% set y = 1 %}{% generation %}{% set y = 2 %}{{ y }}{% endgeneration %}{{ y }}",
    "{% raw %}{{ not }} {% this %} {# c #}{% endraw %}|{%- raw -%}  x  {%- endraw -%}  |",
    "a{# comment #}b{#- c -#} d {#- e #} f\n{# whole line #}\ng",
    "{% print n, s %}{% print 'a' if t else 'b' %}",
    "  {% if t %}\n  a\n  {% endif %}\n  b\n",
    "x\n  {%+ if t %}\n a {%+ endif %}\n b",
    "x  {%- if t %}  a  {%- endif -%}  b {{- n -}} c {{ n }}\n\n{% if t -%}\n\n d\n{%- endif %}\n\ne",
    "x\n    {{ n }}\n    {{- n }}\n    {{ n -}}\n    y",
    "a\r\nb\rc\n{% if t %}\r\nd{% endif %}\r\ne\r\n", "\tx\n\t{% if t %}\ty{% endif %}\n", "trailing\n", "trailing\n\n", "\n", "",
    "{% if t %}\n\n{% endif %}\n\n|", "{{ n }}\n{{ n }}\n", "{% set x = 'a\nb' %}{{ x }}", "{{ 'a\r\nb' }}", "{%- set x = 1 -%}\n {{ x }}",
    "{% if n == 7 %}a{% elif n == 8 %}b{% else %}c{% endif %}{% if zero %}a{% elif zero %}b{% elif t %}c{% endif %}{% if 1 in l and not zero %}y{% endif %}",
    "{% if (n,) %}t{% endif %}{% if n, zero %}t{% endif %}{% if undefinedthing %}x{% elif undefinedthing is not defined %}u{% endif %}",
    "{{ {'a': {'b': {}}} }}{{ {'a': 1}['a'] }}{{ '}}' }}{{ '%}' }}{% set z = '%}' %}{{ z }}{{ {'x': '}}'} }}",
    "{{ '{{' }}{{ '{%' }}{ {% if t %}{{% endif %} } {{ '{' ~ '}' }} {{{ 'a': 1 } }}",
    "{% set c = cycler('a', 'b', 'c') %}{{ c.next() }}{{ c.next() }}{{ c.current }}{{ c.reset() }}{{ c.next() }}",
    "{% set j = joiner(', ') %}{% for x in l %}{{ j() }}{{ x }}{% endfor %}",
    "{% set it = l|map('string') %}{{ it|join }}{{ it|join }}|{{ (l|map('string'))|list|length }}",
    "{% for x in l|select('odd') %}{{ loop.length }}{{ x }}{{ loop.last }}{% endfor %}",
    "{% for x in l|reverse %}{{ x }}{{ loop.revindex }}{% endfor %}{% for b in l|batch(2) %}{{ b }}{% endfor %}",
    "{% for x in [1, 2] %}{% set ns = namespace(v=x) %}{{ ns.v }}{% endfor %}",
    "{% set loopvar = namespace(items=[]) %}{% for x in l %}{% set loopvar.items = loopvar.items + [x * 2] %}{% endfor %}{{ loopvar.items }}{{ loopvar.items|length }}",
    "{% for x in l %}{{ x }}{{ ',' if not loop.last }}{% endfor %}{% for x in l %}{{ ',' if not loop.first else '' }}{{ x }}{% endfor %}",
    "{% for g in rows[:3]|groupby('k') %}{{ g.grouper }}:{{ g.list|length }};{% endfor %}{% for k, items in rows[:3]|groupby('k') %}{{ k }}{{ items|map(attribute='v')|join }}{% endfor %}",
    "{% for x in l %}{% set s2 %}{{ x }}{% if x == 1 %}{% continue %}{% endif %}!{% endset %}{{ s2 }}{% endfor %}",
    "{% set a = [1, 2] %}{% set b = a %}{{ a == b }}{% set d3 = {'k': a} %}{{ d3 }}{% set d3 = dict(d3, j=1) %}{{ d3 }}",
    "{{ x if x is defined else 'undef' }}{{ (x|default({})).y }}{{ d.x.y if d.x }}",
    "{% if d.items is defined %}m{% endif %}{% if rows[0].items is callable %}c{% endif %}{{ d.items.foo is defined }}",
    "{%if t%}a{%endif%}{%-if t-%}b{%-endif-%}{{n}}{{-n-}}{#c#}",
    "{% for i in range(2) %}\n  {% for j in range(2) %}\n{{ i }}{{ j }}\n  {% endfor %}\n{% endfor %}\nend",
    "{% for i in l %}{% else %}{% endfor %}{% if t %}{% else %}{% endif %}|",
    "{% set _x = 1 %}{{ _x }}{% for _ in range(2) %}{{ _ }}{% endfor %}",
    "{% if true %}{% if false %}{% else %}{% if true %}deep{% endif %}{% endif %}{% endif %}",
    "{% if t %}{{ n|nosuchfilter if zero else 'ok' }}{% endif %}{% if zero %}{{ n is nosuchtest }}{{ n|nosuch }}{% endif %}",
    "Ünïcödé {{ '→' }} text\ufeff \u2028 {{ 'é' }}\ufeff",
    "{{ [1, 2, 3] | map('string') | join(',') | upper }} {{ 'x' | upper | lower | title }}",
]

# What Jinja refuses: before it runs, or when it runs.
ERRORS = [
    "{{ x.y }}", "{{ x + 1 }}", "{{ 1 + x }}", "{{ 'a' + 1 }}", "{{ 1 + 'a' }}", "{{ [1] + (2,) }}", "{{ none + 'a' }}", "{{ 'a' - 'b' }}",
    "{{ 1 / 0 }}", "{{ 1 // 0 }}", "{{ 1 % 0 }}", "{{ 1.0 / 0 }}", "{{ 0 ** -1 }}", "{{ 'a' * 'b' }}", "{{ {} + {} }}", "{{ -'a' }}", "{{ -none }}",
    "{{ 1 < 'a' }}", "{{ none < 1 }}", "{{ [1] < (1,) }}", "{{ {} < {} }}", "{{ x < 1 }}", "{{ 1 in 5 }}", "{{ 1 in 'a' }}", "{{ none in 'a' }}", "{{ 'a' in none }}",
    "{{ x() }}", "{{ n() }}", "{{ none.x.y }}", "{{ n.x.y }}", "{{ s.nope() }}", "{{ d.nope() }}", "{{ l.append(1) }}", "{{ d.update({}) }}", "{{ l.pop() }}", "{{ d.pop('a') }}", "{{ d.clear() }}",
    "{{ s.__class__.__mro__ }}", "{{ [].__class__() }}", "{{ s.__init__ + '' }}", "{% for i in 5 %}{% endfor %}", "{% for i in none %}{% endfor %}", "{% for a, b in [1] %}{% endfor %}", "{% for a, b in [(1, 2, 3)] %}{% endfor %}",
    "{% set a, b = [1] %}", "{% set n.x = 1 %}", "{% set x.y = 1 %}", "{% set d.a = 1 %}", "{{ raise_exception('boom: ' ~ n) }}", "{{ raise_exception() }}", "{{ n|nosuch }}", "{{ n is nosuch }}", "{{ nosuch(1) }}",
    "{{ d|tojson(x=1) }}", "{{ x|tojson }}", "{{ [x]|tojson }}", "{{ range|tojson }}", "{{ d.items()|tojson }}", "{{ {(1, 2): 3}|tojson }}", "{{ {'a': 1, 1: 2}|tojson(sort_keys=true) }}",
    "{{ l|map }}{{ l|map|list }}", "{{ l|map('nosuch')|list }}", "{{ l|select('nosuch')|list }}", "{{ l|map(attribute='x', foo=1)|list }}", "{{ n|length }}", "{{ none|length }}", "{{ l|map('string')|length }}", "{{ n|list }}", "{{ n|join }}", "{{ n|first }}", "{{ l|map('string')|last }}", "{{ n|items|list }}", "{{ l|items|list }}",
    "{{ ['a', 1]|sort }}", "{{ [none, 1]|min }}", "{{ ['a']|sum }}", "{{ [1, 'a']|sum }}", "{{ l|dictsort }}", "{{ d|dictsort(by='x') }}", "{{ 'a'|round }}", "{{ 'a'|abs }}", "{{ 2.5|round(1, 'x') }}", "{{ [[1]]|unique|list }}", "{{ {[1]: 2} }}", "{{ d[l] }}{{ d.get(l) }}",
    "{{ '%d' % 'a' }}", "{{ '%s %s' % 'a' }}", "{{ '%s' % (1, 2) }}", "{{ '%q' % 1 }}", "{{ '%(a)s' % 1 }}", "{{ '%(a)s' % {} }}", "{{ '%' % 1 }}", "{{ '{}'.format() }}", "{{ '{a}'.format() }}", "{{ '{' .format(1) }}", "{{ '}' .format(1) }}", "{{ '{:d}'.format('a') }}", "{{ '{:z}'.format(1) }}", "{{ '{0} {}'.format(1, 2) }}", "{{ '{0.__class__.x}'.format(1) }}",
    "{{ 'a'.split('') }}", "{{ 'a'.index('z') }}", "{{ 'a'.join([1]) }}", "{{ 'a'.join(5) }}", "{{ 'a'.replace('b') }}", "{{ 'a'.strip(1) }}", "{{ 'a'.center('x') }}", "{{ 'a'.startswith(1) }}", "{{ 'a'.upper(1) }}", "{{ 'a'.nope }}{{ 'a'.nope.x }}", "{{ l.index(9) }}", "{{ s[::0] }}", "{{ s['a':] }}", "{{ n[0:1] }}", "{{ d[:1] }}", "{{ x[:1] }}",
    "{{ range(1000000000) }}", "{{ range(100001) }}", "{{ range('a') }}", "{{ range() }}", "{{ range(1, 2, 0) }}", "{{ dict(1) }}", "{{ namespace(1) }}", "{{ cycler() }}", "{{ loop.index }}", "{% for x in l %}{{ loop.cycle() }}{% endfor %}", "{% for x in l %}{{ loop(1) }}{% endfor %}", "{% for x in l %}{{ loop.nope.x }}{% endfor %}",
    "{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}", "{% macro m(a) %}{% endmacro %}{{ m(b=1) }}", "{% macro m(a) %}{{ a.x }}{% endmacro %}{{ m() }}", "{% macro m() %}{% endmacro %}{% call m() %}{% endcall %}", "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, a=2) }}", "{% macro r() %}{{ r() }}{% endmacro %}{{ r() }}", "{% macro m(a, caller) %}{{ caller() }}{% endmacro %}", "{% macro m() %}{{ caller() }}{% endmacro %}{{ m() }}",
    "{% if %}{% endif %}", "{% if t %}", "{% endif %}", "{% for x in l %}", "{% for x l %}{% endfor %}", "{% else %}", "{% nosuch %}", "{% set %}", "{% set 1 = 2 %}", "{% set 'a' = 2 %}", "{% set x = %}", "{% set true = 1 %}", "{{ }}", "{{ 1 + }}", "{{ 1 1 }}", "{{ (1 }}", "{{ 1) }}", "{{ [1 }}", "{{ {1} }}", "{{ {'a' 1} }}", "{{ a..b }}", "{{ a. }}", "{{ 'abc }}", "{{ \"abc' }}", "{{ $ }}", "{{ a ! b }}", "{{ a & b }}", "{{ 1 = 2 }}", "{{ a if }}", "{{ if a }}", "{% if t %}{% endfor %}", "{% for loop in l %}{{ loop }}{% endfor %}", "{% for x in l %}{% set loop = 1 %}{% endfor %}",
    "{% macro %}{% endmacro %}", "{% macro m %}{% endmacro %}", "{% macro m(a=1, b) %}{% endmacro %}", "{% macro m(1) %}{% endmacro %}", "{% call x %}{% endcall %}", "{% filter %}{% endfilter %}", "{% filter nosuch %}{% endfilter %}", "{% with a %}{% endwith %}", "{% raw %}", "{# open", "{% break %}", "{% continue %}", "{% do l %}", "{% include 'x' %}", "{% import 'x' as y %}", "{% extends 'x' %}", "{{ f(a=1, 2) }}", "{{ f(**a, 1) }}", "{{ f(a=1, a=2) }}", "{{ x is }}", "{{ x is a is b }}", "{{ x | }}", "{{ x |1 }}", "{{ '\\x4' }}", "{{ '\\u12' }}", "{{ ²x }}", "{{ 1..2 }}", "{% generation %}", "{% endgeneration %}", "{{ x or }}", "{{ not }}", "{{ {{ n }} }}", "{{ n }", "{% if n }", "{{ a.b.c(1)[2] }}", "{% set x %}", "{% trans %}x{% endtrans %}",
    "{{ 'a' is divisibleby 2 }}", "{{ none is odd }}", "{{ n is divisibleby }}", "{{ n is divisibleby(1, 2) }}", "{{ n is divisibleby 0 }}", "{{ n is in 5 }}", "{{ inf|int }}", "{{ ('1e999'|float)|int }}", "{{ 10.0 ** 400 }}", "{{ n|int(foo=1) }}", "{{ s|replace('a') }}", "{{ n|indent }}", "{{ s|truncate(2) }}", "{{ l|batch }}", "{{ l|slice(0)|list }}", "{{ x|int }}", "{{ x|float }}", "{{ x|abs }}", "{{ x|round }}", "{{ *l }}", "{{ **d }}", "{{ ns.x.y.z }}", "{% for a.b in l %}{% endfor %}", "{{ none.items() }}", "{{ s.items() }}", "{{ strftime_now(1) }}",
]
