package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Peers are the words that engines and what lies below them do not use in names: other systems,
// whose ways are in compat/, and devices, whose ways are in packages of their own.
func Peers() []string { return []string{"dali", "torch", "orbax", "grain", "cuda", "gpu"} }

// Neutral reports whether a package keeps the rule on names: it is on the floor "engines" or below,
// and not in compat/.
func (r *Rules) Neutral(pkg string) bool {
	level, _, ok := r.place(pkg)
	return ok && level <= r.level("engines") && !match("compat/...", pkg)
}

func (r *Rules) level(name string) int {
	return slices.IndexFunc(r.Floors, func(f Floor) bool { return f.Name == name })
}

// Words splits a name at underscores, dots and capitals: "OnGPUQueue_x" has on, gpu, queue and x.
func Words(name string) []string {
	var out []string
	for part := range strings.FieldsFuncSeq(name, func(r rune) bool { return strings.ContainsRune("_.-/", r) }) {
		runes, start := []rune(part), 0
		for i := 1; i <= len(runes); i++ {
			if i < len(runes) && !begins(runes, i) {
				continue
			}
			out = append(out, strings.ToLower(string(runes[start:i])))
			start = i
		}
	}
	return out
}

// begins reports whether a word begins at runes[i]: at a capital behind a small letter, or before
// one.
func begins(runes []rune, i int) bool {
	return unicode.IsUpper(runes[i]) && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) &&
		unicode.IsLower(runes[i+1]))
}

// peer returns the word of a name that is a peer's or a device's, or "". Py before another word is
// Python's.
func peer(name string) string {
	words := Words(name)
	for i, w := range words {
		for _, p := range Peers() {
			if strings.HasPrefix(w, p) {
				return p
			}
		}
		if w == "py" && i+1 < len(words) {
			return "Py"
		}
	}
	return ""
}

// mentions finds the words of peers and devices in a text.
var mentions = regexp.MustCompile(`(?i)` + strings.Join(Peers(), "|"))

// PeerNames lists the exported identifiers, fields and methods included, the files and the folders
// of neutral packages whose names have a word of Peers. literals counts the string literals with
// such a word, by package.
func PeerNames(root string, r *Rules) (names []Violation, literals map[string]int, err error) {
	fset := token.NewFileSet()
	literals = map[string]int{}
	see := func(pkg, name string) {
		if w := peer(name); w != "" {
			rule := "has the word " + w + "; move it to compat/, or give it a word of this module"
			names = append(names, Violation{Package: pkg + ": " + name, Rule: rule})
		}
	}
	folders := map[string]bool{}
	err = parse(fset, root, parser.SkipObjectResolution, func(pkg string, f *ast.File) error {
		if !r.Neutral(pkg) || f.Name.Name == "main" {
			return nil
		}
		if !folders[pkg] {
			folders[pkg] = true
			see(pkg, path.Base(pkg))
		}
		see(pkg, path.Base(fset.File(f.Pos()).Name()))
		for _, d := range f.Decls {
			identifiers(d, func(name string) { see(pkg, name) })
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
				continue
			}
			ast.Inspect(d, func(n ast.Node) bool {
				if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING && mentions.MatchString(l.Value) {
					literals[pkg]++
				}
				return true
			})
		}
		return nil
	})
	slices.SortFunc(names, func(a, b Violation) int { return strings.Compare(a.Package, b.Package) })
	return slices.Compact(names), literals, err
}

// identifiers calls see with each exported name that d declares: a method or field as Type.Name.
func identifiers(d ast.Decl, see func(name string)) {
	add := func(of string, ids ...*ast.Ident) {
		for _, id := range ids {
			if id.IsExported() {
				see(of + id.Name)
			}
		}
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil || len(d.Recv.List) == 0 {
			add("", d.Name)
		} else if name, ok := methodName(d); ok {
			see(name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.ValueSpec:
				add("", s.Names...)
			case *ast.TypeSpec:
				add("", s.Name)
				if !s.Name.IsExported() {
					continue
				}
				ast.Inspect(s.Type, func(n ast.Node) bool {
					f, ok := n.(*ast.Field)
					if !ok {
						return true
					}
					add(s.Name.Name+".", f.Names...)
					return slices.ContainsFunc(f.Names, (*ast.Ident).IsExported)
				})
			}
		}
	}
}

// Named is a name of a peer or device that may stay in a neutral package.
type Named struct {
	Name   string // a package with all that it has, or package, colon and name; see match
	Reason string
}

// CheckPeers compares the names with the list of those that may stay, and the counts of literals
// with their limits. A limit is exact, so that a literal that goes lowers it.
func CheckPeers(names []Violation, allowed []Named, literals, limits map[string]int) []Violation {
	var out []Violation
	needed := map[string]bool{}
	for _, v := range names {
		pkg, _, _ := strings.Cut(v.Package, ": ")
		i := slices.IndexFunc(allowed, func(a Named) bool {
			return a.Name == v.Package || match(a.Name, pkg) || memberOf(a.Name, v.Package)
		})
		if i < 0 {
			out = append(out, v)
			continue
		}
		needed[allowed[i].Name] = true
	}
	for _, a := range allowed {
		if !needed[a.Name] {
			rule := "has no peer's name any more; remove its row from peers_allowed.go"
			out = append(out, Violation{Package: a.Name, Rule: rule})
		}
	}
	all := map[string]int{}
	maps.Copy(all, literals)
	for p := range limits {
		all[p] += 0
	}
	for _, p := range slices.Sorted(maps.Keys(all)) {
		rule := ""
		switch n, limit := all[p], limits[p]; {
		case n > limit:
			rule = fmt.Sprintf("want at most %d strings with a peer's name, got %d; "+
				"move the text to compat/, or say it in neutral words", limit, n)
		case n < limit:
			rule = fmt.Sprintf("has %d strings with a peer's name now; lower its number in peers_allowed.go from %d", n, limit)
		}
		if rule != "" {
			out = append(out, Violation{Package: p, Rule: rule})
		}
	}
	return out
}

// memberOf reports whether name is a member of the type that row names: "pkg: Type.*".
func memberOf(row, name string) bool {
	of, ok := strings.CutSuffix(row, ".*")
	return ok && strings.HasPrefix(name, of+".")
}
