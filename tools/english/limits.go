package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const limitsFile = "tools/english/limits.txt"

const limitsHead = `# Findings that a folder may still have: riddles, long lines of prose, long lines of code.
# A number may fall and must not rise; a folder that is not here has none.
# go -C tools run ./english -lower writes the lower numbers.
`

type counts [kinds]int

// count returns the findings of each folder.
func count(found []finding) map[string]counts {
	out := map[string]counts{}
	for _, f := range found {
		if f.kind == longCell {
			continue
		}
		c := out[f.folder()]
		c[f.kind]++
		out[f.folder()] = c
	}
	return out
}

// parseLimits parses lines of a folder and its counts.
func parseLimits(s string) (map[string]counts, error) {
	out := map[string]counts{}
	for i, l := range strings.Split(s, "\n") {
		if l = strings.TrimSpace(l); l == "" || strings.HasPrefix(l, "#") {
			continue
		}
		var folder string
		var c counts
		if _, err := fmt.Sscan(l, &folder, &c[riddle], &c[longProse], &c[longCode]); err != nil {
			return nil, fmt.Errorf("%s:%d: want a folder and three numbers, got %q", limitsFile, i+1, l)
		}
		out[folder] = c
	}
	return out, nil
}

func printLimits(limits map[string]counts) string {
	var b strings.Builder
	b.WriteString(limitsHead)
	for _, folder := range slices.Sorted(maps.Keys(limits)) {
		if c := limits[folder]; c != (counts{}) {
			fmt.Fprintf(&b, "%-32s %4d %4d %4d\n", folder, c[riddle], c[longProse], c[longCode])
		}
	}
	return b.String()
}

// compare reports the findings of each kind and folder that exceed its limit.
func compare(w io.Writer, root string, found []finding, lower bool) error {
	file := filepath.Join(root, filepath.FromSlash(limitsFile))
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	limits, err := parseLimits(string(b))
	if err != nil {
		return err
	}
	now := count(found)
	cells := 0
	for _, f := range found {
		if f.kind == longCell {
			cells++
		}
	}
	fmt.Fprintf(w, "%d cells of tables are above %d columns\n", cells, cellColumns)
	over, lowered := exceeding(found, now, limits)
	for _, f := range over {
		fmt.Fprintln(w, f)
	}
	if lower {
		err = os.WriteFile(file, []byte(printLimits(lowest(now, limits))), 0o644)
	} else if lowered > 0 {
		fmt.Fprintf(w, "%d counts of %s are too high by now: go -C tools run ./english -lower\n", lowered, limitsFile)
	}
	if err == nil && len(over) > 0 {
		err = fmt.Errorf("%d findings in folders that have more than %s says", len(over), limitsFile)
	}
	return err
}

// exceeding returns the findings of folders and kinds above their limits, and how many limits are
// higher than they need to be.
func exceeding(found []finding, now, limits map[string]counts) (over []finding, lowered int) {
	for _, f := range found {
		if f.kind != longCell && now[f.folder()][f.kind] > limits[f.folder()][f.kind] {
			over = append(over, f)
		}
	}
	for folder, c := range limits {
		for kind := range c {
			if now[folder][kind] < c[kind] {
				lowered++
			}
		}
	}
	return over, lowered
}

func lowest(now, limits map[string]counts) map[string]counts {
	out := map[string]counts{}
	for folder, c := range limits {
		for kind := range c {
			c[kind] = min(c[kind], now[folder][kind])
		}
		out[folder] = c
	}
	return out
}
