"""The YAML loader: what it hands over, and how it refuses."""

from __future__ import annotations

import contextlib
import hashlib
import os
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline_runtime.descriptor.yaml_scalars import quoted
from pipeline_runtime.descriptor.yaml_source import YamlDocument, dotted, load_yaml
from pipeline_runtime.errors import DescriptorError


@pytest.fixture
def read(tmp_path):
    """Loads the given text or bytes as a file called file.yml."""

    def load(content: str | bytes) -> YamlDocument:
        path = tmp_path / "file.yml"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return load_yaml(path, shown_as="file.yml")

    return load


@pytest.fixture
def refusal(read):
    """The message with which the given content is refused."""

    def refuse(content: str | bytes) -> str:
        with pytest.raises(DescriptorError) as caught:
            read(content)
        return str(caught.value)

    return refuse


def test_a_mapping_is_read_with_its_types(read):
    document = read(
        "text: hello\nquoted: '1.10'\nnumber: 7\nlarge: 850_000\nratio: 0.25\nexponent: 1e3\n"
        "yes_or_no: true\nnothing:\nday: 2024-01-02\nmoment: 2024-01-02T10:00:00Z\nlist: [a, 1]\nnested: {a: {b: c}}\n"
    )
    assert document.data == {
        "text": "hello",
        "quoted": "1.10",
        "number": 7,
        "large": 850_000,
        "ratio": 0.25,
        "exponent": 1000.0,
        "yes_or_no": True,
        "nothing": None,
        "day": date(2024, 1, 2),
        "moment": datetime(2024, 1, 2, 10, tzinfo=UTC),
        "list": ["a", 1],
        "nested": {"a": {"b": "c"}},
    }


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("-12", -12),
        ("0x1F", 31),
        ("0b11", 3),
        ("1.", 1.0),
        (".5", 0.5),
        ("1_000.5", 1000.5),
        (".inf", float("inf")),
        ("-.inf", float("-inf")),
        ("1.2.3", "1.2.3"),
        ("e3", "e3"),
        ("nO", "nO"),
        ("y", "y"),
        ("PT4H", "PT4H"),
        ("~", None),
        ("!!str 1.10", "1.10"),
        ("|\n  two\n  lines", "two\nlines\n"),
    ],
)
def test_an_unquoted_value_keeps_the_form_that_yaml_gives_it(read, text, value):
    assert read(f"x: {text}\n").data["x"] == value


def test_every_key_and_item_knows_its_line(read):
    document = read("# a comment\na: 1\nsteps:\n  - id: one\n    params:\n      p: q\n  - id: two\n")
    assert [document.line(path) for path in [("a",), ("steps",), ("steps", 0, "params", "p"), ("steps", 1, "id")]] == [
        2,
        3,
        6,
        7,
    ]


def test_an_absent_key_is_placed_at_its_nearest_ancestor(read):
    document = read("a: 1\nsource:\n  table: t\n")
    assert document.line(("source", "schema_version")) == 2
    assert document.line(("source", "table", "deeper", 3)) == 3
    assert document.line(("nowhere", 0)) == 1


def test_the_authors_spelling_is_kept_beside_the_value(read):
    document = read("a: 1.10\nb: '1.10'\nc: {d: !!str 7}\n")
    spelling = document.text_of(("a",))
    assert spelling is not None
    assert (spelling.text, spelling.quoted) == ("1.10", False)
    assert document.text_of(("b",)).quoted
    assert document.text_of(("c", "d")).quoted
    assert document.text_of(("c",)) is None
    assert document.text_of(("absent",)) is None


def test_a_path_is_shown_as_an_author_would_point_at_it():
    assert dotted(("steps", 0, "params", "code")) == "steps[0].params.code"


def test_the_digest_is_that_of_the_bytes(read):
    content = b"\xef\xbb\xbfa: 1\r\n"
    assert read(content).sha256 == hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "file.yml: is empty"),
        ("# only a comment\n", "file.yml: is empty"),
        ("---\n", "file.yml: is empty"),
        ("- a\n- b\n", "file.yml:1: holds a list at the top; a mapping of keys is expected"),
        ("just text\n", "file.yml:1: holds a single value at the top; a mapping of keys is expected"),
        ("a: 1\n---\nb: 2\n", "file.yml:2: a second document starts here; a file holds one"),
        ("a: 'x\nb: 1\n", "file.yml:1: is not valid YAML: a quote that is never closed"),
        ("a:\n\t- b\n", "file.yml:2: is not valid YAML: a tab; indent with spaces"),
        ("a: @b\n", "file.yml:1: is not valid YAML: a value that starts with @; quote it"),
        ("a: [1, 2\nb: 1\n", "file.yml:2: is not valid YAML: "),
        ("a: [1, 2\n", "file.yml:1: is not valid YAML: "),
        ("a: b: c\n", "file.yml:1: is not valid YAML: a ': ' inside a value"),
        (b"a: caf\xe9\n", "file.yml:1: is not UTF-8 (byte 0xe9); save it as UTF-8"),
        (b"a: 1\nb: \xff\n", "file.yml:2: is not UTF-8"),
        ("a: 1\n".encode("utf-16"), "file.yml: is UTF-16; save it as UTF-8"),
        ("a: 1\nb: \x07\n", "file.yml:2: is not text: it holds the control character #x07"),
        ("a: *b\n", "file.yml:1: the alias *b names nothing"),
        ("a: &b [*b]\n", "file.yml:1: the alias *b stands inside the value that it names"),
        ("a: !!python/object:os.system {}\n", "file.yml:1: the tag !!python/object:os.system is not allowed"),
        ("a: !!binary aGk=\n", "file.yml:1: the tag !!binary is not allowed; write the plain value"),
        ("a: !mine 1\n", "file.yml:1: the tag !mine is not allowed"),
        ("? [a]\n: b\n", "file.yml:1: a key is a list or a mapping; keys are text"),
        ("1: a\n", 'file.yml:1: the key 1 is not text as it stands; quote it: write "1"'),
        ("on: a\n", 'file.yml:1: the key on is not text as it stands; quote it: write "on"'),
        ("? \n: a\n", "file.yml:1: an empty key is not text as it stands"),
        ("a: " + "9" * 5000 + "\n", "file.yml:1: a: a number of 5000 digits is too long"),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_a_file_that_cannot_be_used_is_refused_in_one_line(refusal, content, expected):
    message = refusal(content)
    assert message.startswith(expected)
    assert "\n" not in message


@pytest.mark.parametrize("text", ["NO", "on", "Off", "yes", "12:30", "0123", "0o17", "=", "2024-02-30"])
def test_reported_a_value_that_yaml_readers_disagree_about_asks_for_quotes(refusal, read, text):
    message = refusal(f"a:\n  - b: {text}\n")
    assert message.startswith(f"file.yml:2: a[0].b: unquoted {text} ")
    assert "quote it" in message
    assert f'"{text}"' in message
    assert read(f'a: "{text}"\n').data == {"a": text}


def test_reported_a_key_given_twice_is_refused_with_both_lines(refusal):
    message = refusal("inputs:\n  a: 1\nother: 2\ninputs:\n  b: 3\n")
    assert message == "file.yml:4: the key inputs is given twice, here and on line 1; keep one"


def test_reported_a_merge_key_may_be_overridden(read):
    document = read("base: &base\n  a: 1\n  b: 2\nderived:\n  <<: *base\n  b: 3\n")
    assert document.data["derived"] == {"a": 1, "b": 3}
    assert (document.line(("derived", "a")), document.line(("derived", "b"))) == (2, 6)


def test_of_several_merged_mappings_the_earlier_one_wins(read):
    document = read("x: &x {a: 1}\ny: &y {a: 2, b: 2}\nz:\n  <<: [*x, *y]\n")
    assert document.data["z"] == {"a": 1, "b": 2}


def test_a_merge_of_something_else_is_refused(refusal):
    assert refusal("a:\n  <<: [1]\n") == "file.yml:2: << takes a mapping, or a list of mappings"
    assert "<< is given twice, here and on line 2" in refusal("a:\n  <<: {b: 1}\n  <<: {c: 1}\n")


def test_all_places_of_a_file_are_reported_at_once(refusal):
    lines = refusal("a: NO\nb: 1\nb: 2\nc: !x 1\n").splitlines()
    assert [line.split(" ")[0] for line in lines] == ["file.yml:1:", "file.yml:3:", "file.yml:4:"]


def test_a_byte_order_mark_is_no_part_of_the_text(read):
    assert read(b"\xef\xbb\xbfa: 1\n").data == {"a": 1}


def test_aliases_that_multiply_are_refused_before_they_do(refusal):
    bomb = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 200))
    assert "more than 100,000 values" in refusal(bomb)


@pytest.mark.parametrize(
    "content",
    [
        "a: " + "[" * 5000,
        "a: " + "{b: " * 5000,
        "a0: &a0 []\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 200)),
    ],
    ids=["lists", "mappings", "aliases"],
)
def test_deep_nesting_is_refused(refusal, content):
    assert "nested more than 40 levels deep" in refusal(content)


def test_a_huge_file_is_refused_unread(refusal):
    assert refusal("a: " + "x" * 2_000_000) == "file.yml: is larger than 1,048,576 bytes"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("absent.yml", "does not exist"),
        ("folder", "is a directory, not a file"),
        ("pipe", "is not a regular file"),
        ("x" * 300, "cannot be read: File name too long"),
        ("nul\0.yml", "cannot be read: its name is impossible"),
        ("loop", "cannot be read: Too many levels of symbolic links"),
        ("file.yml/below", "cannot be read: Not a directory"),
    ],
)
def test_a_path_that_is_no_readable_file_is_refused(tmp_path: Path, name, expected):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file.yml").write_text("a: 1\n")
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DescriptorError) as caught:
        load_yaml(tmp_path / name, shown_as="it")
    assert str(caught.value) == f"it: {expected}"


def test_a_file_without_permission_is_refused(tmp_path: Path, monkeypatch):
    def refuse(_path):
        raise PermissionError(13, "Permission denied")

    (tmp_path / "file.yml").write_text("a: 1\n")
    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(DescriptorError, match="cannot be read: Permission denied"):
        load_yaml(tmp_path / "file.yml")


_YAML_SHAPED = st.text(alphabet="ab:-[]{}&*!<>|'\"%@`#?,.0129_ \n\t=~xeN\\\r\u2028é", max_size=80)


@given(
    content=st.one_of(
        st.binary(max_size=200), _YAML_SHAPED.map(str.encode), _YAML_SHAPED.map(lambda s: f"a: {s}\n".encode())
    )
)
def test_whatever_the_bytes_only_a_descriptor_error_is_raised(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "any.yml"
    path.write_bytes(content)
    with contextlib.suppress(DescriptorError):
        assert all(isinstance(key, str) for key in load_yaml(path).data)


@given(
    text=st.text(st.characters(min_codepoint=0x20, max_codepoint=0xFFFD, exclude_categories=["Cs", "Cc", "Zl", "Zp"]))
)
def test_text_between_double_quotes_is_read_as_it_was_written(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "quoted.yml"
    path.write_text(f"a: {quoted(text)}\n", encoding="utf-8")
    assert load_yaml(path).data == {"a": text}
