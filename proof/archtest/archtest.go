// Package archtest keeps the floors of docs/architecture.md standing.
//
// The module is a list of floors, lowest first (see Module). A package may
// import packages of lower floors, and of its own floor only those that its row
// names. The test of this package reads the import clauses of every Go file,
// whatever its build tags, and fails on
//
//   - a package that stands on no floor;
//   - an import that points up, or sideways where no row allows it;
//   - an import of a restricted package by one that is not on its list;
//   - a third-party or forbidden standard package where its row has none;
//   - a go statement on a floor that starts none;
//   - an exported name or a file of an engine, or below, that has the name of another system or of
//     a device;
//   - a package that reaches, through whatever path, what only the command may link;
//   - a package that reaches, through whatever path, a package that its users do without.
//
// Test files may import what they like: a lower floor may well be tested
// through a higher one.
package archtest

import (
	"fmt"
	"slices"
	"strings"
)

// Package is what the rules look at: one directory of the module.
type Package struct {
	Path       string   // relative to the module; "." is the root package
	Imports    []string // of non-test files; packages of the module relative to it, others in full
	Goroutines []string // positions of go statements
}

// Floor is one floor of the module. Its packages may import lower floors.
type Floor struct {
	Name string
	Rows []Row
	// Avoids are standard packages that no package here imports.
	Avoids []string
	// Sequential floors start no goroutines.
	Sequential bool
}

// Row places packages on a floor.
type Row struct {
	Packages string   // a path, or a path with "/..." for it and all below
	Beside   []string // patterns of the packages on the same floor that these may import
	Modules  []string // third-party import paths, by prefix, that these may import
}

// Restriction limits who may import a package of the module.
type Restriction struct {
	Package string   // pattern
	To      []string // patterns of the importers
	Reason  string
}

// Rules is the whole law.
type Rules struct {
	Module       string // module path
	Floors       []Floor
	Restrictions []Restriction
	// Heavy are third-party import paths, by prefix, that only packages matching
	// Command or OptIn may link, through whatever path.
	Heavy   []string
	Command []string
	// OptIn are packages that register something heavy when they are imported. Only the command and
	// proofs import them here; a user's program may.
	OptIn []string
	// Without are packages of the module that others do not link, through whatever path.
	Without []Without
}

// Without says which packages of the module some packages do not link.
type Without struct {
	Packages []string // patterns
	Links    []string // patterns of what they do not link
	Except   []string // patterns of what they may link all the same
	Reason   string
}

// Violation is one broken rule.
type Violation struct {
	Package string
	Import  string
	Rule    string
}

// String renders the violation on one line.
func (v Violation) String() string {
	if v.Import == "" {
		return v.Package + ": " + v.Rule
	}
	return v.Package + " -> " + v.Import + ": " + v.Rule
}

// match reports whether path fits pattern.
func match(pattern, path string) bool {
	if root, ok := strings.CutSuffix(pattern, "/..."); ok {
		return path == root || strings.HasPrefix(path, root+"/")
	}
	return path == pattern
}

func matchAny(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return match(p, path) })
}

func hasPrefixAny(prefixes []string, path string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return match(p+"/...", path) })
}

// place finds the floor and row of a path. The longest pattern wins, so that a
// package can stand elsewhere than the tree it lies in.
func (r *Rules) place(path string) (floor int, row *Row, ok bool) {
	best := -1
	for i := range r.Floors {
		for j := range r.Floors[i].Rows {
			c := &r.Floors[i].Rows[j]
			if match(c.Packages, path) && len(c.Packages) > best {
				best, floor, row, ok = len(c.Packages), i, c, true
			}
		}
	}
	return floor, row, ok
}

// Check applies the rules to the import clauses of packages. inModule tells the
// module's own import paths from others.
func (r *Rules) Check(pkgs []Package, inModule func(path string) bool) []Violation {
	var out []Violation
	for _, p := range pkgs {
		fail := func(imp, format string, args ...any) {
			out = append(out, Violation{p.Path, imp, fmt.Sprintf(format, args...)})
		}
		level, row, ok := r.place(p.Path)
		if !ok {
			fail("", "stands on no floor; give it a row in floors.go")
			continue
		}
		floor := &r.Floors[level]
		if floor.Sequential {
			for _, pos := range p.Goroutines {
				fail("", "the floor %q starts no goroutines: %s", floor.Name, pos)
			}
		}
		for _, imp := range p.Imports {
			switch {
			case inModule(imp):
				r.checkOwn(p.Path, level, row, imp, fail)
			case strings.Contains(strings.Split(imp, "/")[0], "."):
				if !hasPrefixAny(row.Modules, imp) {
					fail(imp, "its row allows no such module")
				}
			case slices.Contains(floor.Avoids, imp):
				fail(imp, "the floor %q does without it", floor.Name)
			}
		}
	}
	return out
}

func (r *Rules) checkOwn(path string, level int, row *Row, imp string, fail func(string, string, ...any)) {
	for _, rs := range r.Restrictions {
		if match(rs.Package, imp) && !match(rs.Package, path) && !matchAny(rs.To, path) {
			fail(imp, "%s", rs.Reason)
		}
	}
	to, _, ok := r.place(imp)
	switch {
	case !ok:
		fail(imp, "imports a package that stands on no floor")
	case to > level:
		fail(imp, "the arrow points up, from %q to %q", r.Floors[level].Name, r.Floors[to].Name)
	case to == level && !matchAny(row.Beside, imp):
		fail(imp, "the arrow points sideways on %q, which its row does not allow", r.Floors[level].Name)
	}
}

// CheckLinks applies the linking rule: deps lists, for every package of the
// module, all that it links.
func (r *Rules) CheckLinks(deps map[string][]string) []Violation {
	var out []Violation
	for path, linked := range deps {
		if matchAny(r.Command, path) || matchAny(r.OptIn, path) {
			continue
		}
		for _, d := range linked {
			if hasPrefixAny(r.Heavy, d) {
				out = append(out, Violation{path, d, "only the command and opt-in packages may link it"})
			}
		}
	}
	out = append(out, r.checkWithout(deps)...)
	slices.SortFunc(out, func(a, b Violation) int { return strings.Compare(a.String(), b.String()) })
	return out
}

// checkWithout lists the packages that link what they should do without.
func (r *Rules) checkWithout(deps map[string][]string) []Violation {
	var out []Violation
	for path, linked := range deps {
		for _, w := range r.Without {
			if !matchAny(w.Packages, path) {
				continue
			}
			for _, d := range linked {
				if own := relative(d, r.Module); own != d && matchAny(w.Links, own) && !matchAny(w.Except, own) {
					out = append(out, Violation{path, own, w.Reason})
				}
			}
		}
	}
	return out
}
