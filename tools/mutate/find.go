package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"
)

// checksumWord finds operands that are checksums, as they are written.
var checksumWord = regexp.MustCompile(`\b(crc|crc32)\.[A-Z]|\b(CRC|Sum32|sum|sums\.CRC|Checksum)\b`)

// damageWord finds statements that say that bytes are damaged.
var damageWord = regexp.MustCompile(`errs\.Corrupt|ChecksumError\(|sizeError\(|missingFile\(|missingArray\(|\bcorrupt\(`)

// visitor finds the sites of one function.
type visitor struct {
	f        *source
	fn       *ast.FuncDecl
	checkers map[string]bool // by key
	sites    []*site
}

// comparesAny reports whether a function compares a checksum.
func (f *source) comparesAny(fn *ast.FuncDecl) (found bool) {
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		if i, ok := n.(*ast.IfStmt); ok && f.comparesChecksum(i.Init, i.Cond) {
			found = true
		}
		return true
	})
	return found
}

// checks reports whether a call is one of a function that compares a checksum.
func (v *visitor) checks(c *ast.CallExpr) bool { return v.checkers[key(v.f.dir(), callee(c))] }

// comparesChecksum reports whether a condition holds when a checksum is another one.
func (f *source) comparesChecksum(init ast.Stmt, cond ast.Expr) bool {
	switch c := cond.(type) {
	case *ast.BinaryExpr:
		if c.Op != token.NEQ || isNil(c.Y) {
			return false
		}
		text := f.print(c.X) + " " + f.print(c.Y)
		if init != nil {
			text += " " + f.print(init)
		}
		return checksumWord.MatchString(text)
	case *ast.UnaryExpr:
		call, ok := c.X.(*ast.CallExpr)
		return ok && c.Op == token.NOT && callee(call) == "Equal" && checksumWord.MatchString(f.print(call))
	}
	return false
}

func (v *visitor) function() {
	v.decisions()
	ast.Inspect(v.fn.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			v.list(n.List)
		case *ast.CaseClause:
			v.list(n.Body)
		case *ast.CommClause:
			v.list(n.Body)
		case *ast.SwitchStmt:
			v.cases(n)
		case *ast.CallExpr:
			v.sync(n)
		case *ast.ReturnStmt:
			v.returned(n)
		}
		return true
	})
}

// list looks at the statements of one block.
func (v *visitor) list(list []ast.Stmt) {
	var before ast.Stmt
	for _, s := range list {
		if i, ok := s.(*ast.IfStmt); ok {
			v.ifs(i, before)
		}
		before = s
	}
	if v.f.commits() || v.f.protocol() {
		v.orders(list)
	}
}

// ifs looks at an if and the ones in its else.
func (v *visitor) ifs(i *ast.IfStmt, before ast.Stmt) {
	v.check(i, i.Init, i.Cond, i.Body.List, before)
	if e, ok := i.Else.(*ast.IfStmt); ok {
		v.ifs(e, i.Init)
	}
}

// cases looks at the clauses of a switch without tag, which are conditions too.
func (v *visitor) cases(s *ast.SwitchStmt) {
	if s.Tag != nil {
		return
	}
	for _, c := range s.Body.List {
		if c := c.(*ast.CaseClause); len(c.List) == 1 {
			v.check(c, s.Init, c.List[0], c.Body, nil)
		}
	}
}

// check enters a condition that is a check.
func (v *visitor) check(n ast.Node, init ast.Stmt, cond ast.Expr, body []ast.Stmt, before ast.Stmt) {
	k, proceed, ok := v.classify(n, init, cond, body, before)
	if !ok {
		return
	}
	from := init
	if a, ok := before.(*ast.AssignStmt); ok && from == nil && (isError(cond) || isCompare(cond, token.EQL)) {
		from = a // where the error was made
	}
	text := v.f.brief(cond)
	if from != nil {
		text = v.f.brief(from) + "; " + text
	}
	if proceed {
		v.wrap(k, text, cond, "(", ") || mutant.Off("+number+")")
		return
	}
	v.wrap(k, text, cond, "(", ") && !mutant.Off("+number+")")
}

// classify says of which kind a condition is. proceed: its body is what goes
// on when there was no error, so that it is taken out by always entering it.
func (v *visitor) classify(n ast.Node, init ast.Stmt, cond ast.Expr, body []ast.Stmt, before ast.Stmt) (k kind, proceed, ok bool) {
	if verified.MatchString(v.f.dir()) {
		if v.f.comparesChecksum(init, cond) {
			return kindChecksum, false, true
		}
		from := init
		if from == nil {
			from = before
		}
		if isError(cond) && from != nil && v.callsChecker(from) {
			return kindChecksum, false, true
		}
	}
	if damaging.MatchString(v.f.dir()) && !isError(cond) && v.says(body, damageWord) {
		return kindDamage, false, true
	}
	if !v.f.commits() {
		return "", false, false
	}
	switch {
	case kernel.MatchString(v.f.name) && isNumber(cond, token.NEQ): // what is not said to be tried again
		return kindError, true, true
	case kernel.MatchString(v.f.name) && isNumber(cond, token.EQL):
		return kindError, false, true
	case isError(cond):
		return kindError, false, true
	case isCompare(cond, token.EQL):
		if _, isIf := n.(*ast.IfStmt); !isIf {
			return "", false, false // a clause that is no check
		}
		// if e := f.Close(); err == nil { err = e } keeps an error; if err == nil
		// { err = next() } goes on.
		return kindError, !keeps(init, body), true
	case strings.Contains(v.f.print(cond), "err == nil &&"):
		return kindError, false, true
	}
	return "", false, false
}

// keeps reports whether the body assigns an error that init made.
func keeps(init ast.Stmt, body []ast.Stmt) bool {
	a, ok := init.(*ast.AssignStmt)
	if !ok || len(body) != 1 {
		return false
	}
	b, ok := body[0].(*ast.AssignStmt)
	if !ok || len(b.Rhs) != 1 {
		return false
	}
	from, ok := b.Rhs[0].(*ast.Ident)
	made, ok2 := a.Lhs[len(a.Lhs)-1].(*ast.Ident)
	return ok && ok2 && from.Name == made.Name
}

func (v *visitor) says(body []ast.Stmt, what *regexp.Regexp) bool {
	for _, s := range body {
		switch s := s.(type) {
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt: // has its own conditions
		default:
			if what.MatchString(v.f.print(s)) {
				return true
			}
		}
	}
	return false
}

func (v *visitor) callsChecker(s ast.Stmt) bool {
	if _, ok := s.(*ast.AssignStmt); !ok {
		return false
	}
	found := false
	calls(s, func(c *ast.CallExpr) { found = found || v.checks(c) })
	return found
}

// returned enters a return of what a checker says.
func (v *visitor) returned(r *ast.ReturnStmt) {
	if kernel.MatchString(v.f.name) && len(r.Results) == 1 {
		if u, ok := r.Results[0].(*ast.UnaryExpr); ok && u.Op == token.AND { // &os.PathError{…}
			v.wrap(kindError, "return "+v.f.brief(u), u, "mutant.Skip("+number+", func() error { return ", " })")
		}
	}
	types := v.fn.Type.Results
	if !verified.MatchString(v.f.dir()) || len(r.Results) == 0 || types == nil || len(r.Results) != types.NumFields() {
		return
	}
	c, ok := r.Results[len(r.Results)-1].(*ast.CallExpr)
	if last, isError := types.List[len(types.List)-1].Type.(*ast.Ident); !ok || !isError || last.Name != "error" || !v.checks(c) {
		return
	}
	v.skip(kindChecksum, c)
}

// syncing are the names of what makes bytes or names durable.
var syncing = []string{"Sync", "SyncDir", "syncData", "syncDir", "Fsync", "Fdatasync", "Syncfs"}

// sync enters a call that syncs, or that is handed a function that does.
func (v *visitor) sync(c *ast.CallExpr) {
	if notSynced.MatchString(v.f.name) {
		return
	}
	syncs := slices.Contains(syncing, callee(c))
	for _, a := range c.Args {
		sel, ok := a.(*ast.SelectorExpr)
		syncs = syncs || ok && slices.Contains(syncing, sel.Sel.Name)
	}
	if syncs {
		v.skip(kindSync, c)
	}
}

// skip enters a call that returns an error and is left out.
func (v *visitor) skip(k kind, c *ast.CallExpr) {
	v.wrap(k, v.f.brief(c), c, "mutant.Skip("+number+", func() error { return ", " })")
}

// wrap enters a site that brackets a node.
func (v *visitor) wrap(k kind, text string, n ast.Node, before, after string) {
	v.add(k, text, n,
		edit{file: v.f.name, at: v.f.offset(n.Pos()), text: before, rank: opening},
		edit{file: v.f.name, at: v.f.offset(n.End()), text: after, rank: closing})
}

func (v *visitor) add(k kind, text string, n ast.Node, edits ...edit) {
	p := v.f.fset.Position(n.Pos())
	v.sites = append(v.sites, &site{
		kind: k, fn: v.f.function(v.fn), text: text, line: fmt.Sprintf("%s:%d", p.Filename, p.Line), edits: edits,
	})
}

// isError reports whether a condition holds only when there is an error: one of
// its conjuncts is err != nil.
func isError(cond ast.Expr) bool {
	if b, ok := cond.(*ast.BinaryExpr); ok && b.Op == token.LAND {
		return isError(b.X) || isError(b.Y)
	}
	return isCompare(cond, token.NEQ)
}

func isCompare(cond ast.Expr, op token.Token) bool {
	b, ok := cond.(*ast.BinaryExpr)
	if !ok || b.Op != op || !isNil(b.Y) {
		return false
	}
	switch x := b.X.(type) {
	case *ast.Ident:
		return x.Name == "err" || x.Name == "e"
	case *ast.IndexExpr:
		id, ok := x.X.(*ast.Ident)
		return ok && id.Name == "failures"
	}
	return false
}

// isNumber reports whether a condition compares an error with one of the kernel's.
func isNumber(cond ast.Expr, op token.Token) bool {
	b, ok := cond.(*ast.BinaryExpr)
	if !ok || b.Op != op {
		return false
	}
	sel, ok := b.Y.(*ast.SelectorExpr)
	return ok && strings.HasPrefix(sel.Sel.Name, "E")
}

func isNil(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == "nil"
}

// callee is the last part of the name of what is called.
func callee(c *ast.CallExpr) string {
	switch f := c.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

// calls visits the calls in a statement that run when it does.
func calls(n ast.Node, visit func(*ast.CallExpr)) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit, *ast.DeferStmt, *ast.GoStmt:
			return false
		case *ast.CallExpr:
			visit(n)
		}
		return true
	})
}
