// Package fold compares names like a file system that ignores case.
package fold

import (
	"strings"
	"unicode"
)

// Name returns the same spelling for all names that differ only in case, by Unicode's simple
// folding.
func Name(name string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			least = min(least, other)
		}
		return least
	}, name)
}
