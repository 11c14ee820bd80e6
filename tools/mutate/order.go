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

// requests are the rules of the protocols over a bucket and over a board, by package.
var requests = map[string][]rule{
	"store/object": {
		{"objects before the tree", []string{"put", "settleUses"}, []string{"writeTree", "hand"}},
		{"lease before the head", []string{"change"}, []string{"putHead"}},
		{"note before the head goes", []string{"announce"}, []string{"putHead", "unpublish"}},
		{"leftovers after the head", []string{"putHead"}, []string{"free", "drop"}},
		{"data before the lease and the note", []string{"reclaim", "freeKeys", "unuse", "dropUploads", "dropAll"},
			[]string{"drop"}},
		{"dead before its data goes", []string{"change", "put"}, []string{"bury"}},
		{"name noted before it is given", []string{"namesKey"}, []string{"headKey"}},
		{"new head before the old one goes", []string{"newHead"}, []string{"headKey"}},
		{"move before what was put later", []string{"finishMove"}, []string{"moveLater"}},
		{"copy before the first goes", []string{"put"}, []string{"drop"}},
		{"use noted before the look", []string{"use"}, []string{"look"}},
		{"reader noted before the look", []string{"note"}, []string{"Fate"}},
		{"last write before the drop", []string{"Wait"}, []string{"drop"}},
	},
	"cluster": {
		{"seat before the look at the job", []string{"claim"}, []string{"job"}},
		{"lists before the look at the job", []string{"list", "seatOf"}, []string{"job"}},
		{"look at the job before the sign of life", []string{"checkJob"}, []string{"once"}},
		{"parts before the seat", []string{"dropParts"}, []string{"drop"}},
		{"withdrawal before the last look", []string{"withdraw"}, []string{"late"}},
	},
}

// orders enters the pairs of statements of one block that a rule puts in order:
// each later one with the nearest earlier one.
func (v *visitor) orders(list []ast.Stmt) {
	all := rules
	if v.f.protocol() {
		all = requests[v.f.dir()]
	}
	for _, r := range all {
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
	case returns && v.publishes(a, b.(*ast.ReturnStmt)) && !v.uses(b, list[i:j]):
		// return publish(): publish first, then what should have come before.
		results := b.(*ast.ReturnStmt).Results
		last := len(results) - 1
		call, others := v.f.between(results[last]), ""
		for _, r := range results[:last] {
			others += v.f.between(r) + ", "
		}
		edits = []edit{
			{file: v.f.name, at: v.f.offset(a.Pos()), rank: before,
				text: "var early" + number + " error; if mutant.Off(" + number + ") { early" + number + " = " + call + " }; "},
			{file: v.f.name, at: v.f.offset(b.Pos()), rank: before,
				text: "if mutant.Off(" + number + ") { return " + others + "early" + number + " }; "},
		}
	default:
		return // the compiler keeps these in order: the second needs what the first makes
	}
	v.add(kindOrder, text, b, edits...)
}

// publishes reports whether a return may be split in two: the call of its last result, which comes
// before the statement a, and the return. In a protocol the other results are constants.
func (v *visitor) publishes(a ast.Stmt, r *ast.ReturnStmt) bool {
	if !v.f.protocol() {
		return closed(a) && len(r.Results) == 1
	}
	if len(r.Results) == 0 {
		return false
	}
	_, call := r.Results[len(r.Results)-1].(*ast.CallExpr)
	return call
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
