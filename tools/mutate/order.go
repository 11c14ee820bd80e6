package main

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// rule says that calls of one kind come before calls of another.
type rule struct {
	name        string
	first, then []string
}

var rules = []rule{
	{"content before manifest", []string{"put", "Put", "SyncDir", "writeItem"}, []string{"put", "Commit"}},
	{"write before sync", []string{"put", "Put", "writeFull", "writeFile", "replaceFile", "WriteAt"}, []string{"Sync", "SyncDir", "syncAbove", "Seal"}},
	{"sync before rename", []string{"Sync", "SyncDir", "syncAbove", "writeFile", "prepare"}, []string{"Rename", "RenameNoReplace", "Exchange", "renameNoReplace", "moveIn", "publish"}},
	{"rename before sync of the parent", []string{"Rename", "RenameNoReplace", "Exchange", "renameNoReplace", "moveIn", "replaceFile"}, []string{"SyncDir"}},
	{"sync before removal", []string{"Sync", "SyncDir"}, []string{"removeAll", "removeEntry", "RemoveTree"}},
	{"commit before retention", []string{"Commit", "publish"}, []string{"retain", "RemoveTree"}},
	{"parent before child", []string{"ensure", "ensureDir"}, []string{"Mkdir"}},
	{"made before durable", []string{"Mkdir"}, []string{"SyncDir"}},
}

// orders enters the pairs of statements of one block that a rule puts in order:
// each later one with the nearest earlier one.
func (v *visitor) orders(list []ast.Stmt) {
	for _, r := range rules {
		for j := range list {
			if !callsAny(list[j], r.then) || callsAny(list[j], without(r.first, r.then)) {
				continue // none, or the nearest is in the statement itself
			}
			for i := j - 1; i >= 0; i-- {
				if callsAny(list[i], r.first) {
					v.order(r, list, i, j)
					break
				}
			}
		}
	}
}

func without(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return slices.Contains(others, n) })
}

func callsAny(s ast.Stmt, names []string) bool {
	found := false
	calls(s, func(c *ast.CallExpr) { found = found || slices.Contains(names, callee(c)) })
	return found
}

// order enters one pair. The first statement is moved behind the second, or the
// second before the first, whichever can be moved: a statement that declares
// nothing for the ones after it and does not leave the function for good.
func (v *visitor) order(r rule, list []ast.Stmt, i, j int) {
	a, b := list[i], list[j]
	text := r.name + ": " + v.names(a, r.first) + " … " + v.names(b, r.then)
	_, returns := b.(*ast.ReturnStmt)
	var edits []edit
	switch {
	case closed(a) && !returns:
		edits = v.move(a, b, b.End())
	case closed(b) && !v.uses(b, list[i:j]):
		edits = v.move(b, a, a.Pos())
	case closed(a) && returns && len(b.(*ast.ReturnStmt).Results) == 1 && !v.uses(b, list[i:j]):
		// return publish(): publish first, then what should have come before.
		call := v.f.between(b.(*ast.ReturnStmt).Results[0])
		edits = []edit{
			{file: v.f.name, at: v.f.offset(a.Pos()), rank: before,
				text: "var early" + number + " error; if mutant.Off(" + number + ") { early" + number + " = " + call + " }; "},
			{file: v.f.name, at: v.f.offset(b.Pos()), rank: before,
				text: "if mutant.Off(" + number + ") { return early" + number + " }; "},
		}
	default:
		return // the compiler keeps these in order: the second needs what the first makes
	}
	v.add(kindOrder, text, b, edits...)
}

// move takes s away from where it stands and puts it at another place, which is
// the start or the end of the statement other.
func (v *visitor) move(s, other ast.Stmt, to token.Pos) []edit {
	there := edit{file: v.f.name, at: v.f.offset(to), text: "if mutant.Off(" + number + ") { " + v.f.between(s) + " }; ", rank: before}
	if to == other.End() {
		there.text, there.rank = "; "+strings.TrimSuffix(there.text, "; "), after
	}
	return []edit{
		{file: v.f.name, at: v.f.offset(s.Pos()), text: "if !mutant.Off(" + number + ") { ", rank: opening},
		{file: v.f.name, at: v.f.offset(s.End()), text: " }", rank: closing},
		there,
	}
}

// closed reports whether a statement declares nothing for those after it.
func closed(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.BlockStmt, *ast.ExprStmt:
		return true
	case *ast.AssignStmt:
		return s.Tok == token.ASSIGN
	}
	return false
}

// uses reports whether s names a variable that one of the statements declares.
func (v *visitor) uses(s ast.Stmt, list []ast.Stmt) bool {
	made := map[string]bool{}
	for _, l := range list {
		if a, ok := l.(*ast.AssignStmt); ok && a.Tok == token.DEFINE {
			for _, e := range a.Lhs {
				if id, ok := e.(*ast.Ident); ok && id.Name != "_" {
					made[id.Name] = true
				}
			}
		}
	}
	own := map[string]bool{} // declared by s itself
	used := false
	ast.Inspect(s, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				for _, e := range n.Lhs {
					if id, ok := e.(*ast.Ident); ok {
						own[id.Name] = true
					}
				}
			}
		case *ast.Ident:
			used = used || made[n.Name] && !own[n.Name]
		}
		return true
	})
	return used
}

// names prints the calls of a statement that a rule is about.
func (v *visitor) names(s ast.Stmt, names []string) string {
	text := ""
	calls(s, func(c *ast.CallExpr) {
		if slices.Contains(names, callee(c)) && text == "" {
			text = v.f.brief(c)
		}
	})
	return text
}
