package pickle

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/bivouac-ml/bivouac/errs"
)

// The default of Options.Memory is DefaultMemory, and MemoryPerByte for each byte of the stream.
const (
	DefaultMemory = 16 << 20
	MemoryPerByte = 128
)

// Options tune Parse. The zero value lists no name.
type Options struct {
	// Listed reports whether the stream may have a name. nil lists none.
	Listed func(Global) bool
	// Memory is about how many bytes the values may take; 0 is DefaultMemory, and MemoryPerByte for
	// each byte of the stream.
	Memory int64
}

// Parse reads the one value of a stream.
//
// Errors: errs.Unsupported for a name that is not listed, and for instructions that are not read;
// errs.Exhausted for values that would take more than Options.Memory; errs.Corrupt for anything
// else, such as a stream that is cut short, or bytes after its end. Each has the offset.
func Parse(b []byte, o Options) (any, error) {
	m := &machine{b: b, listed: o.Listed, left: o.Memory}
	if m.left == 0 {
		m.left = DefaultMemory + MemoryPerByte*int64(len(b))
	}
	v, err := m.run()
	if err != nil {
		return nil, errs.Wrap("pickle", "byte "+strconv.Itoa(m.start), err)
	}
	return v, nil
}

// machine is the stack machine of a pickle.
type machine struct {
	b      []byte
	start  int // of the current instruction
	at     int
	listed func(Global) bool
	left   int64 // bytes of memory

	stack  []any
	marks  []int          // lengths of the stack at the open marks
	memo   []any          // the entries that came in order, as picklers write them
	strays map[uint64]any // the others
}

// Costs in memory, roughly.
const (
	slotCost  = 16 // an element of a list, of the stack or of the memo
	valueCost = 48 // a container, before its elements
	strayCost = 64 // an entry of the memo that is out of order
)

func corrupt(format string, args ...any) error {
	return &errs.Error{Kind: errs.Corrupt, Got: fmt.Sprintf(format, args...)}
}

// charge counts memory that is about to be taken.
func (m *machine) charge(n int) error {
	if m.left -= int64(n); m.left < 0 {
		return &errs.Error{Kind: errs.Exhausted, Want: "values within the memory limit of a pickle of " +
			strconv.Itoa(len(m.b)) + " bytes", Got: "more"}
	}
	return nil
}

// take returns the next n bytes.
func (m *machine) take(n uint64) ([]byte, error) {
	if left := uint64(len(m.b) - m.at); n > left {
		return nil, corrupt("%d bytes where %d are announced", left, n)
	}
	b := m.b[m.at : m.at+int(n) : m.at+int(n)]
	m.at += int(n)
	return b, nil
}

// number reads an unsigned number of n bytes, at most 8.
func (m *machine) number(n uint64) (uint64, error) {
	b, err := m.take(n)
	if err != nil {
		return 0, err
	}
	var wide [8]byte
	copy(wide[:], b)
	return binary.LittleEndian.Uint64(wide[:]), nil
}

// sized reads bytes behind a length of n bytes.
func (m *machine) sized(n uint64) ([]byte, error) {
	size, err := m.number(n)
	if err != nil {
		return nil, err
	}
	b, err := m.take(size)
	if err == nil {
		err = m.charge(len(b) + valueCost)
	}
	return b, err
}

// line reads text up to the end of the line, which is not part of it.
func (m *machine) line() (string, error) {
	for i := m.at; i < len(m.b); i++ {
		if m.b[i] == '\n' {
			s := string(m.b[m.at:i])
			m.at = i + 1
			return s, m.charge(len(s) + valueCost)
		}
	}
	return "", corrupt("a line without an end")
}

func (m *machine) push(v any) error {
	m.stack = append(m.stack, v)
	return m.charge(slotCost)
}

// floor is the length of the stack below which the current frame may not take.
func (m *machine) floor() int {
	if len(m.marks) == 0 {
		return 0
	}
	return m.marks[len(m.marks)-1]
}

// pop takes n values off the stack. They are valid until the next push.
func (m *machine) pop(n int) ([]any, error) {
	from := len(m.stack) - n
	if from < m.floor() {
		return nil, corrupt("%d values on the stack where %d are needed", len(m.stack)-m.floor(), n)
	}
	out := m.stack[from:]
	m.stack = m.stack[:from]
	return out, nil
}

// popMark takes the values above the last mark, and the mark. They are valid until the next push.
func (m *machine) popMark() ([]any, error) {
	if len(m.marks) == 0 {
		return nil, corrupt("no mark on the stack")
	}
	from := m.floor()
	m.marks = m.marks[:len(m.marks)-1]
	out := m.stack[from:]
	m.stack = m.stack[:from]
	return out, nil
}

// keep copies values that pop returned.
func (m *machine) keep(items []any) ([]any, error) {
	if len(items) == 0 {
		return nil, nil
	}
	if err := m.charge(slotCost * len(items)); err != nil {
		return nil, err
	}
	return append(make([]any, 0, len(items)), items...), nil
}

// top returns the value on the top of the stack.
func (m *machine) top() (any, error) {
	if len(m.stack) <= m.floor() {
		return nil, corrupt("an empty stack")
	}
	return m.stack[len(m.stack)-1], nil
}

// text pushes a string.
func (m *machine) text(b []byte) error {
	if !utf8.Valid(b) {
		return &errs.Error{Kind: errs.Unsupported, Want: "text in UTF-8", Got: "other bytes"}
	}
	return m.push(string(b))
}

// global pushes a listed name.
func (m *machine) global(module, name string) error {
	g := Global{module, name}
	if m.listed == nil || !m.listed(g) {
		return &errs.Error{Kind: errs.Unsupported, Want: "data, and names of listed types",
			Got: "the name " + brief(g.String())}
	}
	if err := m.charge(valueCost); err != nil {
		return err
	}
	return m.push(g)
}

// brief quotes a name from outside, without its tail if it is long.
func brief(s string) string {
	const most = 120
	if len(s) > most {
		s = s[:most] + "…"
	}
	for _, r := range s {
		if r <= ' ' || r == utf8.RuneError || r == 0x7f || r == '"' {
			return strconv.Quote(s)
		}
	}
	return s
}

// put stores the top of the stack in the memo.
func (m *machine) put(at uint64) error {
	v, err := m.top()
	if err != nil {
		return err
	}
	switch n := uint64(len(m.memo)); {
	case at < n:
		m.memo[at] = v
		return nil
	case at == n:
		m.memo = append(m.memo, v)
		delete(m.strays, at)
		return m.charge(slotCost)
	}
	if m.strays == nil {
		m.strays = map[uint64]any{}
	}
	m.strays[at] = v
	return m.charge(strayCost)
}

// get pushes a value of the memo.
func (m *machine) get(at uint64) error {
	if at < uint64(len(m.memo)) {
		return m.push(m.memo[at])
	}
	v, ok := m.strays[at]
	if !ok {
		return corrupt("entry %d of a memo that does not have it", at)
	}
	return m.push(v)
}

// call pushes the Object of a call. The arguments are on the top of the stack.
func (m *machine) call() error {
	v, err := m.pop(2)
	if err != nil {
		return err
	}
	of, ok := v[0].(Global)
	args, tuple := v[1].(*Tuple)
	if !ok || !tuple {
		return corrupt("a call of %s with %s", Kind(v[0]), Kind(v[1]))
	}
	if err := m.charge(4 * valueCost); err != nil {
		return err
	}
	return m.push(&Object{Of: of, Args: args.Items})
}

// build gives an Object its state.
func (m *machine) build() error {
	v, err := m.pop(1)
	if err != nil {
		return err
	}
	state := v[0]
	on, err := m.top()
	if err != nil {
		return err
	}
	obj, ok := on.(*Object)
	if !ok || obj.State != nil {
		return corrupt("a state for %s that cannot have it", Kind(on))
	}
	obj.State = state
	return nil
}

// extend appends values to the list, set or Object on the top of the stack.
func (m *machine) extend(items []any, to any) error {
	if err := m.charge(2 * slotCost * len(items)); err != nil {
		return err
	}
	switch to := to.(type) {
	case *List:
		to.Items = append(to.Items, items...)
	case *Object:
		to.Items = append(to.Items, items...)
	default:
		return corrupt("elements for %s", Kind(to))
	}
	return nil
}

// insert sets pairs in the dictionary or Object on the top of the stack.
func (m *machine) insert(pairs []any, to any) error {
	if len(pairs)%2 != 0 {
		return corrupt("a key without a value")
	}
	if err := m.charge(2 * slotCost * len(pairs)); err != nil {
		return err
	}
	var d *Dict
	switch to := to.(type) {
	case *Dict:
		d = to
	case *Object:
		d = &to.Dict
	default:
		return corrupt("keys for %s", Kind(to))
	}
	for i := 0; i < len(pairs); i += 2 {
		d.Keys, d.Values = append(d.Keys, pairs[i]), append(d.Values, pairs[i+1])
	}
	return nil
}
