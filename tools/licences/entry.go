package main

import (
	"fmt"
	"slices"
	"strings"
)

// An entry is one module with its licence texts.
type entry struct {
	Module  string
	Version string // "go" for the standard library, "-" for Bivouac itself
	Licence string // SPDX identifiers, joined with " AND "
	Texts   []text
}

// A text is one file, named relative to its module.
type text struct{ Name, Body string }

// The lines that begin an entry and a file in it.
const (
	moduleMark = "=== module "
	fileMark   = "=== file "
)

// Modules that are no dependencies.
const (
	ownModule = "github.com/bivouac-ml/bivouac"
	standard  = "std"
)

// render writes entries in the form that parse reads.
func render(entries []entry) ([]byte, error) {
	var b strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&b, "%s%s %s %s\n", moduleMark, e.Module, e.Version, e.Licence)
		for _, t := range e.Texts {
			if strings.HasPrefix(t.Body, "=== ") || strings.Contains(t.Body, "\n=== ") {
				return nil, fmt.Errorf("%s: %s has a line that begins like a heading, \"=== \"", e.Module, t.Name)
			}
			fmt.Fprintf(&b, "%s%s\n%s\n", fileMark, t.Name, t.Body)
		}
	}
	return []byte(b.String()), nil
}

// parse reads what render wrote.
func parse(s string) ([]entry, error) {
	var out []entry
	var body []string
	end := func() {
		if n := len(out); n > 0 && len(out[n-1].Texts) > 0 {
			out[n-1].Texts[len(out[n-1].Texts)-1].Body = strings.Join(body, "\n")
		}
		body = nil
	}
	for i, line := range strings.Split(strings.TrimSuffix(s, "\n"), "\n") {
		if rest, ok := strings.CutPrefix(line, moduleMark); ok {
			end()
			fields := strings.SplitN(rest, " ", 3)
			if len(fields) != 3 {
				return nil, fmt.Errorf("line %d: want module, version and licence, got %q", i+1, rest)
			}
			out = append(out, entry{Module: fields[0], Version: fields[1], Licence: fields[2]})
			continue
		}
		if name, ok := strings.CutPrefix(line, fileMark); ok && len(out) > 0 {
			end()
			last := &out[len(out)-1]
			last.Texts = append(last.Texts, text{Name: name})
			continue
		}
		if len(out) == 0 || len(out[len(out)-1].Texts) == 0 {
			return nil, fmt.Errorf("line %d: want a heading, got %q", i+1, line)
		}
		body = append(body, line)
	}
	end()
	return out, nil
}

// differences says how the written list differs from the wanted entries. A written
// module that is not wanted is linked elsewhere if go.mod requires that version.
func differences(written, wanted []entry, versions map[string]string) (out []string) {
	for _, w := range wanted {
		i := slices.IndexFunc(written, func(e entry) bool { return e.Module == w.Module })
		switch {
		case i < 0:
			out = append(out, fmt.Sprintf("%s %s: is linked and not listed", w.Module, w.Version))
		case written[i].Version != w.Version:
			out = append(out, fmt.Sprintf("%s: version %s is linked, %s is listed", w.Module, w.Version, written[i].Version))
		case w.Module == standard: // its texts depend on how this Go was installed
		case written[i].Licence != w.Licence || !slices.Equal(written[i].Texts, w.Texts):
			out = append(out, fmt.Sprintf("%s %s: the listed licence texts are not the module's", w.Module, w.Version))
		}
	}
	for _, e := range written {
		if slices.ContainsFunc(wanted, func(w entry) bool { return e.Module == w.Module }) {
			continue
		}
		if versions[e.Module] != e.Version {
			out = append(out, fmt.Sprintf("%s %s: is listed, and go.mod requires %q", e.Module, e.Version, versions[e.Module]))
		}
	}
	return out
}

// identify returns the SPDX identifiers of the licences in texts.
func identify(texts []text) (string, error) {
	var ids []string
	for _, t := range texts {
		s := strings.Join(strings.Fields(t.Body), " ")
		var found []string
		for _, k := range known {
			if strings.Contains(s, k.words) {
				found = append(found, k.id)
			}
		}
		if len(found) == 0 && isLicence(t.Name) {
			return "", fmt.Errorf("%s: a licence that tools/licences does not know; read it, and add it to known if it may be linked", t.Name)
		}
		ids = append(ids, found...)
	}
	if len(ids) == 0 {
		return "", fmt.Errorf("there is no licence file")
	}
	slices.Sort(ids)
	return strings.Join(slices.Compact(ids), " AND "), nil
}

// known are words that only the text of one licence has, with blanks made single.
var known = []struct{ words, id string }{
	{"Apache License Version 2.0, January 2004", "Apache-2.0"},
	{"Apache License, Version 2.0", "Apache-2.0"},
	{"Permission is hereby granted, free of charge, to any person obtaining a copy", "MIT"},
	{"may be used to endorse or promote products derived from", "BSD-3-Clause"},
	{"This is free and unencumbered software released into the public domain", "Unlicense"},
	{"Redistributions in binary form must reproduce the above copyright notice, this list of conditions and the following disclaimer in the documentation and/or other materials provided with the distribution. THIS SOFTWARE", "BSD-2-Clause"},
}

// isLicence reports whether a file of this name holds a licence, and not a notice.
func isLicence(name string) bool {
	base := strings.ToUpper(name[strings.LastIndexByte(name, '/')+1:])
	return strings.Contains(base, "LICEN") || strings.HasPrefix(base, "COPYING")
}
