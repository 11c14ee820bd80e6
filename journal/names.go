package journal

import (
	"fmt"
	"path"
	"strconv"
	"strings"
)

// idDigits is the number of hexadecimal digits of the id of an attempt.
const idDigits = 16

// suffix ends the names of segments.
const suffix = ".jsonl"

// segmentName returns the name of a segment in the folder. Names of at most 999999 attempts and
// segments sort in their order.
func segmentName(attempt int, id string, number int) string {
	return fmt.Sprintf("%06d-%s.%06d%s", attempt, id, number, suffix)
}

// parseName reads a name that segmentName has made. ok is false for any other name.
func parseName(name string) (attempt int, id string, number int, ok bool) {
	text, isRows := strings.CutSuffix(name, suffix)
	first, rest, dash := strings.Cut(text, "-")
	id, last, dot := strings.Cut(rest, ".")
	if !isRows || !dash || !dot || len(id) != idDigits || strings.Trim(id, hexDigits) != "" {
		return 0, "", 0, false
	}
	attempt, err := strconv.Atoi(first)
	if err != nil {
		return 0, "", 0, false
	}
	number, err = strconv.Atoi(last)
	return attempt, id, number, err == nil && attempt > 0 && number > 0 && segmentName(attempt, id, number) == name
}

func join(folder, name string) string { return path.Join(folder, name) }
