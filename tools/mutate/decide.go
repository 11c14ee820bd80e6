package main

import (
	"go/ast"
	"go/token"
)

// decisions enters what a function of a deciding file decides by: each condition of an
// if, of a loop and of a switch without tag, which then never holds, or always; and each
// operand of && and ||, which then plays no part. A check of an error never holds, and does
// not always hold: any test would fail then.
//
// In the files of a protocol a condition that is && is not made to hold always, nor one that is ||
// never: a test that sees an operand missing sees that too.
func (v *visitor) decisions() {
	if !deciding.MatchString(v.f.name) && !v.f.protocol() {
		return
	}
	ast.Inspect(v.fn.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt:
			v.decision(n.Init, n.Cond, !isError(n.Cond))
		case *ast.ForStmt:
			if n.Cond != nil {
				v.decision(nil, n.Cond, false) // one that never ends is no mutant
			}
		case *ast.SwitchStmt:
			if n.Tag != nil {
				return true
			}
			for _, c := range n.Body.List {
				for _, cond := range c.(*ast.CaseClause).List {
					v.decision(n.Init, cond, !isError(cond))
				}
			}
		case *ast.BinaryExpr:
			v.operands(n)
		}
		return true
	})
}

// decision enters a condition.
func (v *visitor) decision(init ast.Stmt, cond ast.Expr, always bool) {
	if isError(cond) && v.f.commits() {
		return // the error is already checked
	}
	text := v.f.brief(cond)
	if init != nil {
		text = v.f.brief(init) + "; " + text
	}
	never := true
	if b, ok := cond.(*ast.BinaryExpr); ok && v.f.protocol() {
		always, never = always && b.Op != token.LAND, b.Op != token.LOR
	}
	if never {
		v.wrap(kindDecision, text+" … never", cond, "(", ") && !mutant.Off("+number+")")
	}
	if always {
		v.wrap(kindDecision, text+" … always", cond, "(", ") || mutant.Off("+number+")")
	}
}

// operands enters the two sides of && or ||. A side that is the same operation again has
// sides of its own.
func (v *visitor) operands(b *ast.BinaryExpr) {
	if b.Op != token.LAND && b.Op != token.LOR {
		return
	}
	for _, side := range []ast.Expr{b.X, b.Y} {
		if s, ok := side.(*ast.BinaryExpr); ok && s.Op == b.Op {
			continue
		}
		text := v.f.brief(b) + " … without " + v.f.brief(side)
		if b.Op == token.LAND {
			v.wrap(kindDecision, text, side, "((", ") || mutant.Off("+number+"))")
		} else {
			v.wrap(kindDecision, text, side, "((", ") && !mutant.Off("+number+"))")
		}
	}
}
