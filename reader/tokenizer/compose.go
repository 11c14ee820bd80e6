package tokenizer

import (
	"strings"
	"sync"

	"golang.org/x/text/unicode/norm"
)

// Package norm knows decompositions and combining classes. Its own forms are not used, because they
// put a joiner into long sequences of marks. The tables say which characters have a decomposition
// or a class, because the tokenizers of Hugging Face follow an older version of Unicode.

// Hangul syllables are composed by arithmetic.
const (
	hangulBase            = 0xAC00
	leadBase, leads       = 0x1100, 19
	vowelBase, vowels     = 0x1161, 21
	trailBase, trails     = 0x11A7, 28
	hangulCount           = leads * vowels * trails
	vowelsTimesTrails int = vowels * trails
)

// decompose appends the full decomposition of a text to dst, with marks in their canonical order.
func decompose(dst []rune, s string, compatible bool) []rune {
	form, known := norm.NFD, isComposed
	if compatible {
		form, known = norm.NFKD, isCompatible
	}
	for i, r := range s {
		if k := int(r) - hangulBase; k >= 0 && k < hangulCount {
			dst = append(dst, leadBase+rune(k/vowelsTimesTrails), vowelBase+rune(k%vowelsTimesTrails/trails))
			if t := k % trails; t > 0 {
				dst = append(dst, trailBase+rune(t))
			}
			continue
		}
		if r < 0x80 || !known(r) {
			dst = append(dst, r)
			continue
		}
		if d := form.PropertiesString(s[i:]).Decomposition(); d != nil {
			dst = append(dst, []rune(string(d))...)
		} else {
			dst = append(dst, r)
		}
	}
	order(dst)
	return dst
}

// classOf returns the combining class of a character.
func classOf(r rune) uint8 {
	if r < 0x300 || !isMark(r) {
		return 0
	}
	return norm.NFD.PropertiesString(string(r)).CCC()
}

// order sorts the marks behind each other character by their class.
func order(list []rune) {
	for i := 1; i < len(list); i++ {
		c := classOf(list[i])
		if c == 0 {
			continue
		}
		for k := i; k > 0; k-- {
			if before := classOf(list[k-1]); before <= c {
				break
			}
			list[k], list[k-1] = list[k-1], list[k]
		}
	}
}

// pairs returns the characters that two characters are composed to.
var pairs = sync.OnceValue(func() map[[2]rune]rune {
	m := map[[2]rune]rune{}
	for r := rune(0xC0); r < 0x30000; r++ {
		if !isComposed(r) {
			continue
		}
		d := norm.NFD.PropertiesString(string(r)).Decomposition()
		if d == nil || norm.NFC.String(string(r)) != string(r) {
			continue
		}
		list := []rune(string(d))
		first := []rune(norm.NFC.String(string(list[:len(list)-1])))
		if len(list) > 1 && len(first) == 1 {
			m[[2]rune{first[0], list[len(list)-1]}] = r
		}
	}
	return m
})

// composed returns the character that two characters are composed to.
func composed(a, b rune) (rune, bool) {
	if l, v := a-leadBase, b-vowelBase; l >= 0 && l < leads && v >= 0 && v < vowels {
		return hangulBase + (l*vowels+v)*trails, true
	}
	if k, t := a-hangulBase, b-trailBase; k >= 0 && k < hangulCount && k%trails == 0 && t > 0 && t < trails {
		return a + t, true
	}
	if b < 0x300 {
		return 0, false
	}
	r, ok := pairs()[[2]rune{a, b}]
	return r, ok
}

// compose puts decomposed characters together, in place.
func compose(list []rune) []rune {
	out, starter := list[:0], -1
	last := uint8(0) // class of the last character of out behind the starter
	for _, r := range list {
		class := classOf(r)
		if starter >= 0 && (len(out)-1 == starter || last < class && last != 0) {
			if c, ok := composed(out[starter], r); ok {
				out[starter] = c
				continue
			}
		}
		if class == 0 {
			starter, last = len(out), 0
		} else {
			last = class
		}
		out = append(out, r)
	}
	return out
}

// normalForm returns a text in a form of Unicode.
func normalForm(s string, compatible, composes bool) string {
	// A text that is normal in a newer version of Unicode is normal in the older one, too: a character
	// that the older one lacks has no decomposition and no class there.
	if isASCII(s) || formOf(compatible, composes).IsNormalString(s) {
		return s
	}
	list := decompose(make([]rune, 0, len(s)), s, compatible)
	if composes {
		list = compose(list)
	}
	return string(list)
}

func formOf(compatible, composes bool) norm.Form {
	switch {
	case compatible && composes:
		return norm.NFKC
	case compatible:
		return norm.NFKD
	case composes:
		return norm.NFC
	}
	return norm.NFD
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 })
}
