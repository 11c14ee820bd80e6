package archtest

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// The width of the picture, and of the column with the names of floors.
const (
	pictureWidth = 96
	floorWidth   = 12
)

// Picture draws the floors, the highest first, with the packages that stand on each.
func (r *Rules) Picture(pkgs []Package) string {
	on := make([]map[string][]string, len(r.Floors)) // floor → parent → names
	for _, p := range pkgs {
		floor, _, ok := r.place(p.Path)
		if !ok {
			continue
		}
		if on[floor] == nil {
			on[floor] = map[string][]string{}
		}
		parent, name := drawn(p.Path)
		if !slices.Contains(on[floor][parent], name) {
			on[floor][parent] = append(on[floor][parent], name)
		}
	}
	line := strings.Repeat("─", pictureWidth-2)
	var b strings.Builder
	b.WriteString("┌" + line + "┐\n")
	for i := len(r.Floors) - 1; i >= 0; i-- {
		var words []string
		for _, parent := range slices.Sorted(maps.Keys(on[i])) {
			words = append(words, joined(parent, on[i][parent]))
		}
		name := r.Floors[i].Name
		for _, l := range wrapped(words, pictureWidth-4-floorWidth) {
			pad := strings.Repeat(" ", pictureWidth-4-floorWidth-utf8.RuneCountInString(l))
			fmt.Fprintf(&b, "│ %-*s%s%s │\n", floorWidth, name, l, pad)
			name = ""
		}
		if i > 0 {
			b.WriteString("├" + line + "┤\n")
		}
	}
	b.WriteString("└" + line + "┘\n")
	return b.String()
}

// drawn returns the parent and the name under which a package is drawn. What lies in a folder
// "internal" of another folder is drawn as that folder.
func drawn(p string) (parent, name string) {
	if top, _, ok := strings.Cut(p, "/internal/"); ok {
		return top, "internal/…"
	}
	if p == "." {
		return ".", "bivouac"
	}
	return path.Dir(p), path.Base(p)
}

func joined(parent string, names []string) string {
	slices.Sort(names)
	prefix := parent + "/"
	if parent == "." {
		return strings.Join(names, "  ")
	}
	if len(names) == 1 {
		return prefix + names[0]
	}
	return prefix + "{" + strings.Join(names, ",") + "}"
}

// wrapped breaks words into lines of at most width. A word that is longer breaks behind a comma.
func wrapped(words []string, width int) []string {
	var lines []string
	line := ""
	add := func(piece, gap string) {
		if line != "" && utf8.RuneCountInString(line+gap+piece) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += gap
		}
		line += piece
	}
	for _, w := range words {
		if utf8.RuneCountInString(w) <= width {
			add(w, "  ")
			continue
		}
		gap := "  "
		for _, piece := range strings.SplitAfter(w, ",") {
			add(piece, gap)
			gap = ""
		}
	}
	return append(lines, line)
}
