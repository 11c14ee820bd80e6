// Package fold compares names as file systems do that do not tell upper from lower case.
package fold

import (
	"strings"
	"unicode"
)

// Name returns the spelling that all names share that differ in case only, by Unicode's
// simple folding.
func Name(name string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			least = min(least, other)
		}
		return least
	}, name)
}
