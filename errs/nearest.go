package errs

import (
	"slices"
	"strings"
)

// Nearest returns the entry of names that is most like name, or "" if there is no such entry. At
// most a third of the letters may differ. A name without its prefix is like the whole name: "image"
// is like "decoders.image". If several entries are equally like name, Nearest returns the first in
// alphabetical order.
func Nearest(name string, names []string) string {
	best, least := "", 1+len(name)/3
	for _, n := range names {
		d := 0
		if !strings.HasSuffix(n, "."+name) {
			d = distance(name, n, least)
		}
		if d < least || d == least && (best == "" || n < best) {
			best, least = n, d
		}
	}
	return best
}

// DidYouMean returns a remedy, `did you mean "x"?`, with the Nearest of names, or "" if Nearest
// returns "".
func DidYouMean(name string, names []string) string {
	if best := Nearest(name, names); best != "" {
		return `did you mean "` + best + `"?`
	}
	return ""
}

// distance is the Levenshtein distance of two short names, or some number above most if the
// distance exceeds most.
func distance(a, b string, most int) int {
	if max(len(a), len(b))-min(len(a), len(b)) > most {
		return most + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
		if slices.Min(row) > most {
			return most + 1
		}
	}
	return row[len(b)]
}
