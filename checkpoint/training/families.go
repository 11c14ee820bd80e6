package training

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/store"
)

// NameFamily is names of directories that spell steps in one way.
type NameFamily struct {
	// Prefix stands before the number and an underscore; nil is no prefix.
	Prefix *string
	// Format reads the names, as Options.Names. It writes more of them.
	Format NameFormat
	// Steps are the steps that the names spell, ascending.
	Steps []int64
	// Names are the names of Steps.
	Names []string
}

// String describes the names: "N", "ckpt_N", or "ckpt_00000012" where numbers have
// zeros in front.
func (f NameFamily) String() string {
	prefix := ""
	if f.Prefix != nil {
		prefix = *f.Prefix + "_"
	}
	if c, ok := f.Format.(StandardNames); ok && c.FixedLength > 0 && len(f.Names) > 0 {
		return f.Names[len(f.Names)-1]
	}
	return prefix + "N"
}

// NameFamilies finds names of directories that may spell steps, as Orbax's
// standard_name_format writes them: a number, with a prefix and an underscore in
// front or without, and with zeros in front or without. Those with one prefix are a
// family; plain numbers are the first one, others follow by their prefix. Whether
// the directories are checkpoints is for the caller to see.
func NameFamilies(names []string) []NameFamily {
	type family struct {
		prefix *string
		digits map[string]string // digits → name
	}
	found := map[string]*family{}
	for _, name := range names {
		if store.IsStaging(name) {
			continue
		}
		key, digits := "", name
		var prefix *string
		if i := strings.LastIndexByte(name, '_'); i >= 0 {
			p := name[:i]
			key, digits, prefix = "_"+p, name[i+1:], &p
		}
		if n, err := strconv.ParseInt(digits, 10, 64); err != nil || n < 0 || strings.Trim(digits, "0123456789") != "" {
			continue
		}
		if found[key] == nil {
			found[key] = &family{prefix, map[string]string{}}
		}
		found[key].digits[digits] = name
	}
	var out []NameFamily
	for _, f := range found {
		fam := NameFamily{Prefix: f.prefix, Format: formatOf(f.prefix, f.digits)}
		if fam.Format.Validate() != nil {
			continue
		}
		steps, _ := Resolve(fam.Format, slices.Collect(maps.Values(f.digits)))
		fam.Steps = slices.Sorted(maps.Keys(steps))
		for _, step := range fam.Steps {
			fam.Names = append(fam.Names, steps[step])
		}
		out = append(out, fam)
	}
	slices.SortFunc(out, func(a, b NameFamily) int {
		switch {
		case a.Prefix == nil && b.Prefix == nil:
			return 0
		case a.Prefix == nil:
			return -1
		case b.Prefix == nil:
			return 1
		}
		return cmp.Compare(*a.Prefix, *b.Prefix)
	})
	return out
}

// formatOf returns a format that reads all the numbers. Numbers with leading zeros need a format
// for each length; formatOf prefers the longest.
func formatOf(prefix *string, digits map[string]string) NameFormat {
	lengths := []int{}
	plain := StandardNames{Prefix: prefix}
	fits := func(f StandardNames, d string) bool {
		n, err := strconv.ParseInt(d, 10, 64)
		g := f
		g.Prefix = nil
		return err == nil && g.Name(n) == d
	}
	for d := range digits {
		if !fits(plain, d) && !slices.Contains(lengths, len(d)) {
			lengths = append(lengths, len(d))
		}
	}
	slices.Sort(lengths)
	slices.Reverse(lengths)
	var formats []NameFormat
	left := map[string]bool{}
	for d := range digits {
		left[d] = true
	}
	for _, n := range lengths {
		f := StandardNames{Prefix: prefix, FixedLength: n}
		formats = append(formats, f)
		for d := range left {
			if fits(f, d) {
				delete(left, d)
			}
		}
	}
	if len(left) > 0 || len(formats) == 0 {
		formats = append(formats, plain)
	}
	if len(formats) == 1 {
		return formats[0]
	}
	return CompositeNames{Write: formats[0], Read: formats}
}
