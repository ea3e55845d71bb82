# SPDX-License-Identifier: MIT
"""Reads the declarations of typenet's headers, with their comments, for docs/build_reference.

It reads only as much of C++ as these headers need, and ends with an error for a declaration that it does not
understand: no declaration is omitted silently.
"""
import re
from dataclasses import dataclass, field

TOKEN = re.compile(r"""//[^\n]*|/\*.*?\*/|^[ \t]*\#(?:[^\n]*\\\n)*[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'|R"\(.*?\)"
    |[A-Za-z_]\w*|\d(?:'?[\w.])*|::|->|<=|\S""", re.S | re.M | re.X)
OPENING, CLOSING = {"(": ")", "[": "]", "{": "}"}, {")", "]", "}"}
ACCESS = ("public", "protected", "private")


class unreadable(Exception):
    """A declaration that this reader does not understand."""


@dataclass
class token:
    text: str
    begin: int
    end: int
    line: int


@dataclass
class declaration:
    kind: str  # class, declared (a class without its definition), enum, function, variable, alias, concept, using
    name: str
    scope: str  # the enclosing namespaces and classes, without the modes: dsl::text
    line: int
    last_line: int
    text: str  # without attributes and body, on one line
    comment: list = field(default_factory=list)  # lines above it, with their slashes
    remark: str = ""  # the comment after it in the same line
    follows: bool = False  # whether it is directly below another declaration, whose comment is then about both
    members: list = field(default_factory=list)  # the public members of a class
    source: str = ""
    example: list = field(default_factory=list)  # the lines of a comment directly below it


class reader:
    def __init__(self, name, text):
        self.name, self.text, self.lines = name, text, text.split("\n")
        self.code, self.remarks, self.partner, line, at, open_ = [], {}, {}, 1, 0, []
        for match in TOKEN.finditer(text):
            line += text.count("\n", at, match.start())
            at = match.start()
            if match[0].startswith("//"):
                self.remarks[line] = match[0]
            elif not match[0].startswith("/*") and not match[0].lstrip().startswith("#"):
                self.code.append(token(match[0], match.start(), match.end(), line))
        for i, t in enumerate(self.code):
            if t.text in OPENING:
                open_.append(i)
            elif t.text in CLOSING:
                if not open_ or OPENING[self.code[open_[-1]].text] != t.text:
                    raise unreadable(f"{name}:{t.line}: '{t.text}' closes nothing")
                self.partner[open_.pop()] = i
        if open_:
            raise unreadable(f"{name}:{self.code[open_[-1]].line}: nothing closes this '{self.code[open_[-1]].text}'")
        self.code.append(token("", len(text), len(text), line))  # so that there is always a next one

    def all(self):
        found = []
        self.scope(0, len(self.code) - 1, "", "public", found)
        return found

    def is_at(self, i, *texts):
        return [t.text for t in self.code[i:i + len(texts)]] == list(texts)

    def scope(self, i, end, scope, access, found):
        """Reads the declarations of a namespace or class, which are code[i] to code[end - 1]."""
        while i < end:
            t = self.code[i].text
            if t == ";":
                i += 1
            elif t in ACCESS and self.is_at(i + 1, ":"):
                access, i = t, i + 2
            elif t == "extern" and self.code[i + 1].text.startswith('"'):  # declarations of other libraries
                i = self.partner[i + 2] + 1 if self.is_at(i + 2, "{") else i + 2
            elif t == "namespace" or self.is_at(i, "inline", "namespace"):
                first = i + 1 + (t == "inline")
                i = next(k for k in range(first, end) if self.code[k].text in ("{", ";"))
                if self.code[i].text == "{":
                    names = [x.text for x in self.code[first:i] if x.text not in ("::", "TYPENET_MODE")]
                    self.scope(i + 1, self.partner[i], "::".join([scope] * bool(scope) + names), "public", found)
                    i = self.partner[i] + 1
            else:
                last, body = self.extent(i, end)
                made = self.describe(i, last, body, scope)
                if made and access == "public":
                    found.append(made)
                i = last + 1

    def extent(self, first, end):
        """Returns the last token of a declaration, and the brace that opens its body or None."""
        i, value, body = first, False, None
        while i < end:
            t = self.code[i].text
            if t == ";":
                return i, body
            if t == "template" and self.is_at(i + 1, "<"):
                i = self.after_angles(i + 1)
                continue
            if t == "operator":
                i += 3 if self.is_at(i + 1, "(") else 1
                while self.code[i].text != "(":
                    i += 1
                continue
            value = value or t == "="
            if t == "{" and not value and not self.ends_in_requires(first, i):
                after = self.code[self.partner[i] + 1].text
                if after == ";":
                    return self.partner[i] + 1, body or i
                if after not in (",", "{", ">", ")", "::"):
                    return self.partner[i], i
            i = self.partner.get(i, i) + 1
        raise unreadable(f"{self.name}:{self.code[first].line}: this declaration has no end")

    def ends_in_requires(self, first, i):
        """Returns whether the brace code[i] belongs to a requires expression."""
        i -= 1
        if self.code[i].text == ")":
            i = next(k for k in range(first, i) if self.partner.get(k) == i) - 1
        return self.code[i].text == "requires"

    def after_angles(self, i):
        depth = 0
        while True:
            depth += {"<": 1, ">": -1}.get(self.code[i].text, 0)
            if depth == 0:
                return i + 1
            i = self.partner.get(i, i) + 1

    def after_requires(self, i):
        """Returns the end of the requires clause that begins at code[i]: conditions joined by && or ||."""
        i += 1
        while True:
            while self.code[i].text == "!":
                i += 1
            if self.code[i].text == "requires":
                i = self.partner[i + 1] + 1 if self.is_at(i + 1, "(") else i + 1
            if self.code[i].text in OPENING:
                i = self.partner[i] + 1
            else:
                while True:
                    i += 1
                    if self.code[i].text == "<":
                        i = self.after_angles(i)
                    if self.code[i].text != "::":
                        break
                    i += 1
            if not (self.is_at(i, "&", "&") or self.is_at(i, "|", "|")):
                return i
            i += 2

    def after_prefix(self, i):
        """Returns where a declaration begins after template heads, requires clauses and attributes; None for explicit
        instantiations."""
        while True:
            if self.code[i].text == "template":
                if not self.is_at(i + 1, "<"):
                    return None
                i = self.after_angles(i + 1)
            elif self.is_at(i, "[", "["):
                i = self.partner[i] + 1
            elif self.code[i].text == "requires":
                i = self.after_requires(i)
            else:
                return i

    def describe(self, first, last, body, scope):
        """Returns a declaration, or None if it declares nothing new: a specialisation, a friend, a static_assert."""
        i = self.after_prefix(first)
        if i is None:
            return None
        word = self.code[i].text

        def make(kind, name):
            return self.make(kind, name, scope, first, last, body)
        if word in ("static_assert", "friend", "extern"):
            return None
        if word == "concept":
            return make("concept", self.code[i + 1].text)
        if word == "using":
            if self.is_at(i + 1, "namespace"):
                return None
            k = next(k for k in range(i, last + 1) if self.code[k].text in (";", "="))
            return make("alias", self.code[i + 1].text) if self.code[k].text == "=" else make("using", self.code[k - 1].text)
        if word in ("struct", "class", "union", "enum"):
            i += 1
            if word == "enum" and self.code[i].text in ("class", "struct"):
                i += 1
            while self.code[i].text in ("[", "alignas", "TYPENET_EXPORT"):
                i = self.partner[i] + 1 if self.code[i].text == "[" else i + 1
                i = self.partner[i] + 1 if self.code[i].text == "(" else i
            name, after = self.code[i].text, self.code[i + 1].text
            if name in ("{", ":"):
                return make("enum", "") if word == "enum" else None
            if after == ";":
                return make("declared", name)
            if after == "<" and self.code[self.after_angles(i + 1)].text in ("{", ":", ";", "final"):
                return None  # a specialisation
            if after in ("{", ":", "final"):
                made = make("enum" if word == "enum" else "class", name)
                if word != "enum":
                    access = "private" if word == "class" else "public"
                    self.scope(body + 1, self.partner[body], f"{scope}::{name}", access, made.members)
                return made
        if re.match(r"[A-Za-z_]", word) and self.is_at(i + 1, "(") and self.is_at(self.partner[i + 1] + 1, "->"):
            return None  # a deduction guide
        return self.function_or_variable(i, last, make)

    def function_or_variable(self, i, last, make):
        begin, name = i, ""
        while i <= last:
            t = self.code[i].text
            if t == "operator":
                k = i + (3 if self.is_at(i + 1, "(") else 1)
                while self.code[k].text != "(":
                    k += 1
                texts = [x.text for x in self.code[i + 1:k]]
                return make("function", "operator" + (" " if texts[0][0].isalpha() else "") + "".join(texts))
            if t in ("decltype", "explicit", "noexcept") and self.is_at(i + 1, "("):
                i = self.partner[i + 1]
            elif self.is_at(i, "[", "["):
                i = self.partner[i]
            elif t == "(" and name:
                if self.is_at(i + 1, "*"):  # a pointer to a function
                    return make("variable", self.code[i + 2].text)
                return make("function", name)
            elif t in ("=", "{", ";", "[", ",", ":") and name:
                return make("variable", name)
            elif t == "<" and name:
                i = self.after_angles(i) - 1
            elif t == "~":
                name, i = "~" + self.code[i + 1].text, i + 1
            elif re.match(r"[A-Za-z_]", t):
                name = t
            i += 1
        raise unreadable(f"{self.name}:{self.code[begin].line}: neither a function nor a variable")

    def make(self, kind, name, scope, first, last, body):
        line, last_line = self.code[first].line, self.code[last].line
        comment, above = [], line - 1
        while above and self.lines[above - 1].lstrip().startswith("//"):
            comment.insert(0, self.lines[above - 1].strip())
            above -= 1
        end = last + 1
        if kind == "function":
            end = next((k for k in self.flat(first, last + 1) if self.code[k].text in ("{", ":")), last + 1)
        elif kind == "class":
            end = body
        text = self.text[self.code[first].begin:self.code[end - 1].end]
        text = re.sub(r"//[^\n]*\n|\[\[gnu::[^\]]*\]\]|\bTYPENET_\w+\b", " ", text)
        text = re.sub(r"\s+", " ", text).strip()
        made = declaration(kind, name, scope, line, last_line, text, comment, self.remarks.get(last_line, ""))
        made.follows = not comment and above > 0 and bool(re.search(r"[;}](\s*//.*)?$", self.lines[above - 1])) \
            and not self.lines[above - 1].startswith("#")
        below = last_line
        while below < len(self.lines) and re.match(r"\s*// ", self.lines[below]):
            made.example.append(re.sub(r"^\s*// ", "", self.lines[below]))
            below += 1
        if below < len(self.lines) and self.lines[below].strip():
            made.example = []  # a comment on the next declaration
        made.source = self.text[self.code[first].begin:self.code[last].end]
        return made

    def flat(self, i, end):
        """Returns the tokens of a declaration that are not in brackets, after its template head."""
        while i < end:
            if self.code[i].text == "template" and self.is_at(i + 1, "<"):
                i = self.after_angles(i + 1)
                continue
            if self.code[i].text == "requires" and self.code[i - 1].text in (">", "]"):
                i = self.after_requires(i)
                continue
            yield i
            i = self.partner[i] + 1 if self.code[i].text in ("(", "[") else i + 1
