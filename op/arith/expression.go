package arith

import (
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// expression is a node of the tree: a call, an input or a constant.
type expression struct {
	call     *function // nil for an input or a constant
	operands []*expression
	constant bool
	index    int          // of the input or constant
	dtype    tensor.DType // of the result; for inputs and calls set by typed
}

const (
	maxDepth  = 64      // of calls within calls
	maxLength = 1 << 16 // of the text
)

// parse reads the text that the package comment describes. Any text is safe.
func parse(text string) (*expression, error) {
	p := parser{text: text}
	if len(text) > maxLength {
		return nil, p.error("at most "+strconv.Itoa(maxLength)+" bytes", strconv.Itoa(len(text)))
	}
	e, err := p.expression(0)
	if err != nil {
		return nil, err
	}
	p.space()
	if p.at < len(text) {
		return nil, p.error("the end", strconv.Quote(p.rest()))
	}
	if e.call == nil {
		return nil, p.error("a call", text)
	}
	return e, nil
}

type parser struct {
	text string
	at   int
}

func (p *parser) error(want, got string) error {
	return &errs.Error{Kind: errs.Invalid, Op: "arithmetic", Subject: "expression, byte " + strconv.Itoa(p.at), Want: want, Got: got}
}

// rest returns the beginning of the unread text, for messages.
func (p *parser) rest() string { return p.text[p.at:min(len(p.text), p.at+20)] }

func (p *parser) space() {
	for p.at < len(p.text) && p.text[p.at] == ' ' {
		p.at++
	}
}

func (p *parser) next(c byte) bool {
	if p.at < len(p.text) && p.text[p.at] == c {
		p.at++
		return true
	}
	return false
}

// word reads letters and digits.
func (p *parser) word() string {
	from := p.at
	for p.at < len(p.text) {
		c := p.text[p.at]
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '_' {
			break
		}
		p.at++
	}
	return p.text[from:p.at]
}

func (p *parser) index() (int, error) {
	const digits = 6
	word := p.word()
	n, err := strconv.Atoi(word)
	if err != nil || len(word) > digits || n < 0 {
		return 0, p.error("a number", strconv.Quote(word))
	}
	return n, nil
}

func (p *parser) expression(depth int) (*expression, error) {
	if depth > maxDepth {
		return nil, p.error("at most "+strconv.Itoa(maxDepth)+" calls within calls", "more")
	}
	p.space()
	switch {
	case p.next('&'):
		i, err := p.index()
		return &expression{index: i}, err
	case p.next('$'):
		return p.constant()
	}
	return p.call(depth)
}

func (p *parser) constant() (*expression, error) {
	i, err := p.index()
	if err != nil {
		return nil, err
	}
	if !p.next(':') {
		return nil, p.error(`":" and a type`, strconv.Quote(p.rest()))
	}
	name := p.word()
	d, err := tensor.ParseDType(name)
	if err != nil {
		return nil, p.error("a type", strconv.Quote(name))
	}
	return &expression{constant: true, index: i, dtype: d}, nil
}

func (p *parser) call(depth int) (*expression, error) {
	f, err := lookup(p.word())
	if err != nil {
		return nil, err
	}
	if !p.next('(') {
		return nil, p.error(`"("`, strconv.Quote(p.rest()))
	}
	e := &expression{call: f}
	for p.space(); !p.next(')'); p.space() {
		operand, err := p.expression(depth + 1)
		if err != nil {
			return nil, err
		}
		e.operands = append(e.operands, operand)
	}
	return e, f.checkArity(len(e.operands))
}

// each calls visit for e and all nodes below it, operands first.
func (e *expression) each(visit func(*expression) error) error {
	for _, operand := range e.operands {
		if err := operand.each(visit); err != nil {
			return err
		}
	}
	return visit(e)
}

// typed returns a copy of the tree with all types, given the types of the inputs.
func (e *expression) typed(inputs []tensor.DType) (*expression, error) {
	t := *e
	if e.call == nil {
		if !e.constant {
			t.dtype = inputs[e.index]
		}
		_, err := Promote(t.dtype, t.dtype)
		return &t, err
	}
	t.operands = make([]*expression, len(e.operands))
	types := make([]tensor.DType, len(e.operands))
	for i, operand := range e.operands {
		var err error
		if t.operands[i], err = operand.typed(inputs); err != nil {
			return nil, err
		}
		types[i] = t.operands[i].dtype
	}
	var err error
	_, t.dtype, err = e.call.types(types)
	return &t, err
}
