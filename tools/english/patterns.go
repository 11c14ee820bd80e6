package main

import (
	"fmt"
	"regexp"
	"strings"
)

// A pattern is a phrase that readers have to read twice, and what to write in its place.
type pattern struct {
	expr   *regexp.Regexp
	remedy string
}

var patterns = []pattern{
	{phrase(`(that|those) of`), "repeat the noun"},
	{phrase(`(is|are|was|were|be|as|becomes?) none`), `say "is not a …", "has no …" or "does not exist"`},
	{phrase(`none is (there|that|one|given|set|named|asked|written|known|kept|needed)`), `say "there is no …"`},
	{phrase(`is_one_which|which_is_one|that_is_one`), "repeat the noun"},
	{phrase(`but_for`), `say "except"`},
	{phrase(`so (many|much)`), "name the number: n bytes, depth values"},
	{phrase(`who(so)?ever`), `name the subject: "the caller", "a program that …"`},
	{phrase(`who (wants|wishes|needs|calls|reads|gives|asks|has|does)`), "name the subject, or say it of the caller"},
	{phrase(`what(so)?ever (that|this|it|they) (is|was|are|were|may|takes?|says?|gives?)`), "name it, or leave it out"},
	{phrase(`as_far_as`), `say "if", "while" or "up to"`},
	{phrase(`the (former|latter)`), "repeat the noun"},
	{phrase(`(he|his|him|himself|she)`), `say "the caller", "the user" or "you"`},
	{phrase(`(\d+|one|two|three|four|five|ten|nothing) at (least|most)`), `say "at least 2", "at most 2"`},
	{phrase(`(is|are|was|were) that (which|what)`), "name the thing"},
	{phrase(`and_is_not_one`), "name the thing"},
	{phrase(`(thereof|therein|thereby|wherein|whereof|herein|hereof)`), "use two plain sentences"},
}

// phrase returns an expression for whole words; an underscore is a space.
func phrase(expr string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:` + strings.ReplaceAll(expr, "_", " ") + `)\b`)
}

// A text is prose whose lines were joined, with the line of the file that each byte is from.
type text struct {
	b     strings.Builder
	lines []int
}

func (t *text) add(s string, line int) {
	t.b.WriteString(s)
	t.b.WriteByte(' ')
	for range len(s) + 1 {
		t.lines = append(t.lines, line)
	}
}

// riddles returns what the patterns find in t.
func (t *text) riddles(file string) (out []finding) {
	s := quoted.ReplaceAllStringFunc(t.b.String(), func(q string) string { return strings.Repeat("`", len(q)) })
	for _, p := range patterns {
		for _, at := range p.expr.FindAllStringIndex(s, -1) {
			if found := s[at[0]:at[1]]; !allowed(file, s, at[0]) {
				out = append(out, finding{riddle, file, t.lines[at[0]], fmt.Sprintf("%q: %s", found, p.remedy)})
			}
		}
	}
	return out
}

// quoted matches code within prose, which no pattern reads.
var quoted = regexp.MustCompile("`[^`]*`")
