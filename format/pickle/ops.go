package pickle

import (
	"encoding/binary"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bivouac-ml/bivouac/errs"
)

// The instructions of a pickle, under Python's names.
const (
	opMark           = '('
	opStop           = '.'
	opPop            = '0'
	opPopMark        = '1'
	opDup            = '2'
	opFloat          = 'F'
	opInt            = 'I'
	opBinInt         = 'J'
	opBinInt1        = 'K'
	opLong           = 'L'
	opBinInt2        = 'M'
	opNone           = 'N'
	opPersID         = 'P'
	opBinPersID      = 'Q'
	opReduce         = 'R'
	opString         = 'S'
	opBinString      = 'T'
	opShortBinString = 'U'
	opUnicode        = 'V'
	opBinUnicode     = 'X'
	opAppend         = 'a'
	opBuild          = 'b'
	opGlobal         = 'c'
	opDict           = 'd'
	opAppends        = 'e'
	opGet            = 'g'
	opBinGet         = 'h'
	opInst           = 'i'
	opLongBinGet     = 'j'
	opList           = 'l'
	opObj            = 'o'
	opPut            = 'p'
	opBinPut         = 'q'
	opLongBinPut     = 'r'
	opSetItem        = 's'
	opTuple          = 't'
	opSetItems       = 'u'
	opBinFloat       = 'G'
	opEmptyTuple     = ')'
	opEmptyList      = ']'
	opEmptyDict      = '}'

	opProto    = 0x80
	opNewObj   = 0x81
	opExt1     = 0x82
	opExt2     = 0x83
	opExt4     = 0x84
	opTuple1   = 0x85
	opTuple2   = 0x86
	opTuple3   = 0x87
	opNewTrue  = 0x88
	opNewFalse = 0x89
	opLong1    = 0x8a
	opLong4    = 0x8b

	opBinBytes      = 'B'
	opShortBinBytes = 'C'

	opShortBinUnicode = 0x8c
	opBinUnicode8     = 0x8d
	opBinBytes8       = 0x8e
	opEmptySet        = 0x8f
	opAddItems        = 0x90
	opFrozenSet       = 0x91
	opNewObjEx        = 0x92
	opStackGlobal     = 0x93
	opMemoize         = 0x94
	opFrame           = 0x95

	opByteArray8     = 0x96
	opNextBuffer     = 0x97
	opReadOnlyBuffer = 0x98
)

// refused has the instructions that are not read, and what they are.
var refused = map[byte]string{
	opString: "text of Python 2 (STRING)",
	opInst:   "an instance of an old class (INST)", opObj: "an instance of an old class (OBJ)",
	opExt1: "a number of the extension registry (EXT1)", opExt2: "a number of the extension registry (EXT2)",
	opExt4: "a number of the extension registry (EXT4)", opNewObjEx: "a call with named arguments (NEWOBJ_EX)",
	opNextBuffer:     "a buffer outside of the stream (NEXT_BUFFER)",
	opReadOnlyBuffer: "a buffer outside of the stream (READONLY_BUFFER)",
}

// lastProtocol is the newest protocol that is read.
const lastProtocol = 5

// run runs the stream to its end.
func (m *machine) run() (any, error) {
	for {
		m.start = m.at
		op, err := m.number(1)
		if err != nil {
			return nil, corrupt("the end of the stream without a STOP")
		}
		if op == opStop {
			v, err := m.pop(1)
			switch {
			case err != nil:
				return nil, err
			case m.at < len(m.b):
				return nil, corrupt("%d bytes after the end", len(m.b)-m.at)
			}
			return v[0], nil
		}
		if err := m.charge(1); err != nil {
			return nil, err
		}
		if err := m.step(byte(op)); err != nil {
			return nil, err
		}
	}
}

// step runs one instruction that is not STOP.
func (m *machine) step(op byte) error {
	switch op {
	case opProto:
		v, err := m.number(1)
		if err == nil && v > lastProtocol {
			return &errs.Error{Kind: errs.Unsupported, Want: "a pickle of at most protocol " + strconv.Itoa(lastProtocol),
				Got: "protocol " + strconv.FormatUint(v, 10)}
		}
		return err
	case opFrame:
		n, err := m.number(8)
		if err == nil && n > uint64(len(m.b)-m.at) {
			return corrupt("a frame of %d bytes where %d are left", n, len(m.b)-m.at)
		}
		return err
	case opMark:
		m.marks = append(m.marks, len(m.stack))
		return m.charge(slotCost)
	case opPop:
		if len(m.stack) > m.floor() {
			m.stack = m.stack[:len(m.stack)-1]
			return nil
		}
		_, err := m.popMark()
		return err
	case opPopMark:
		_, err := m.popMark()
		return err
	case opDup:
		v, err := m.top()
		if err == nil {
			err = m.push(v)
		}
		return err
	case opNone:
		return m.push(nil)
	case opNewTrue:
		return m.push(true)
	case opNewFalse:
		return m.push(false)
	}
	if known, err := m.memos(op); known {
		return err
	}
	if known, err := m.containers(op); known {
		return err
	}
	if known, err := m.texts(op); known {
		return err
	}
	if known, err := m.numbers(op); known {
		return err
	}
	if known, err := m.names(op); known {
		return err
	}
	if what, ok := refused[op]; ok {
		return &errs.Error{Kind: errs.Unsupported, Want: "a pickle of data", Got: what}
	}
	return corrupt("byte 0x%02x where an instruction begins", op)
}

// numbers runs instructions that push numbers.
func (m *machine) numbers(op byte) (known bool, err error) {
	var n uint64
	switch op {
	case opBinInt:
		n, err = m.number(4)
		return true, m.pushed(int64(int32(n)), err)
	case opBinInt1:
		n, err = m.number(1)
		return true, m.pushed(int64(n), err)
	case opBinInt2:
		n, err = m.number(2)
		return true, m.pushed(int64(n), err)
	case opBinFloat:
		b, err := m.take(8)
		if err != nil {
			return true, err
		}
		return true, m.push(math.Float64frombits(binary.BigEndian.Uint64(b)))
	case opLong1, opLong4:
		width := uint64(1)
		if op == opLong4 {
			width = 4
		}
		return true, m.long(width)
	case opInt, opLong, opFloat:
		return true, m.decimal(op)
	}
	return false, nil
}

// pushed pushes v unless reading it failed.
func (m *machine) pushed(v any, err error) error {
	if err != nil {
		return err
	}
	return m.push(v)
}

// maxLong is the most bytes of an int.
const maxLong = 1024

func hugeInt(n uint64) error {
	return &errs.Error{Kind: errs.Exhausted, Want: "an int of at most " + strconv.Itoa(maxLong) + " bytes",
		Got: strconv.FormatUint(n, 10)}
}

// long pushes an int in two's complement, behind its length.
func (m *machine) long(width uint64) error {
	n, err := m.number(width)
	if err != nil {
		return err
	}
	b, err := m.take(n)
	switch {
	case err != nil:
		return err
	case n > maxLong:
		return hugeInt(n)
	case n == 0:
		return m.push(int64(0))
	}
	negative := b[n-1]&0x80 != 0
	if n <= 8 {
		var wide [8]byte
		if negative {
			copy(wide[:], "\xff\xff\xff\xff\xff\xff\xff\xff")
		}
		copy(wide[:], b)
		return m.push(int64(binary.LittleEndian.Uint64(wide[:])))
	}
	big1 := slices.Clone(b)
	slices.Reverse(big1)
	v := new(big.Int).SetBytes(big1)
	if negative {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*n)))
	}
	return m.integer(v, int(n))
}

// integer pushes an int of about n bytes.
func (m *machine) integer(v *big.Int, n int) error {
	if err := m.charge(n + valueCost); err != nil {
		return err
	}
	if v.IsInt64() {
		return m.push(v.Int64())
	}
	return m.push(v)
}

// decimal pushes a number that is a line of text.
func (m *machine) decimal(op byte) error {
	s, err := m.line()
	if err != nil {
		return err
	}
	switch {
	case op == opFloat:
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return corrupt("the number %s", brief(s))
		}
		return m.push(f)
	case op == opInt && (s == "00" || s == "01"):
		return m.push(s == "01")
	case op == opLong:
		s = strings.TrimSuffix(s, "L")
	}
	if len(s) > maxLong {
		return hugeInt(uint64(len(s)))
	}
	v, ok := new(big.Int).SetString(s, 10)
	if !ok {
		return corrupt("the number %s", brief(s))
	}
	return m.integer(v, len(s))
}

// widths has how many bytes the length, or the index, behind an instruction takes.
var widths = [256]uint8{opShortBinUnicode: 1, opBinUnicode: 4, opBinUnicode8: 8, opShortBinString: 1, opBinString: 4,
	opShortBinBytes: 1, opBinBytes: 4, opBinBytes8: 8, opByteArray8: 8,
	opBinGet: 1, opLongBinGet: 4, opBinPut: 1, opLongBinPut: 4}

// texts runs instructions that push text and bytes.
func (m *machine) texts(op byte) (known bool, err error) {
	switch op {
	case opUnicode:
		return true, m.rawUnicode()
	case opShortBinUnicode, opBinUnicode, opBinUnicode8, opShortBinString, opBinString, opShortBinBytes, opBinBytes,
		opBinBytes8, opByteArray8:
	default:
		return false, nil
	}
	b, err := m.sized(uint64(widths[op]))
	if err != nil {
		return true, err
	}
	switch op {
	case opShortBinBytes, opBinBytes, opBinBytes8, opByteArray8:
		return true, m.push(slices.Clone(b))
	}
	return true, m.text(b)
}

// rawUnicode pushes a line of Latin-1 with \u and \U escapes.
func (m *machine) rawUnicode() error {
	s, err := m.line()
	if err != nil {
		return err
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		digits := 0
		if s[i] == '\\' && i+1 < len(s) {
			digits = map[byte]int{'u': 4, 'U': 8}[s[i+1]]
		}
		if digits == 0 {
			out = utf8.AppendRune(out, rune(s[i]))
			continue
		}
		if i+2+digits > len(s) {
			return corrupt("an escape that is cut short")
		}
		r, err := strconv.ParseUint(s[i+2:i+2+digits], 16, 32)
		if err != nil || !utf8.ValidRune(rune(r)) {
			return corrupt("the escape %s", brief(s[i:i+2+digits]))
		}
		out = utf8.AppendRune(out, rune(r))
		i += 1 + digits
	}
	return m.push(string(out))
}

// containers runs instructions that make containers and fill them.
func (m *machine) containers(op byte) (known bool, err error) {
	var items []any
	switch op {
	case opEmptyTuple:
		return true, m.made(&Tuple{})
	case opEmptyList:
		return true, m.made(&List{})
	case opEmptyDict:
		return true, m.made(&Dict{})
	case opEmptySet:
		return true, m.made(&Set{})
	case opTuple1, opTuple2, opTuple3:
		if items, err = m.pop(int(op) - opTuple1 + 1); err == nil {
			items, err = m.keep(items)
		}
		return true, m.madeIf(&Tuple{items}, err)
	case opTuple, opList, opFrozenSet:
		if items, err = m.popMark(); err == nil {
			items, err = m.keep(items)
		}
		switch op {
		case opTuple:
			return true, m.madeIf(&Tuple{items}, err)
		case opList:
			return true, m.madeIf(&List{items}, err)
		}
		return true, m.madeIf(&Set{items}, err)
	case opDict:
		d := &Dict{}
		if items, err = m.popMark(); err == nil {
			err = m.insert(items, d)
		}
		return true, m.madeIf(d, err)
	case opAppend, opAppends, opSetItem, opSetItems, opAddItems:
		return true, m.fill(op)
	}
	return false, nil
}

func (m *machine) made(v any) error { return m.madeIf(v, nil) }

// madeIf pushes a new container unless making it failed.
func (m *machine) madeIf(v any, err error) error {
	if err == nil {
		err = m.charge(valueCost)
	}
	return m.pushed(v, err)
}

// fill runs an instruction that changes the container below its operands.
func (m *machine) fill(op byte) error {
	var items []any
	var err error
	switch op {
	case opAppend:
		items, err = m.pop(1)
	case opSetItem:
		items, err = m.pop(2)
	default:
		items, err = m.popMark()
	}
	if err != nil {
		return err
	}
	to, err := m.top()
	if err != nil {
		return err
	}
	switch op {
	case opAppend, opAppends:
		return m.extend(items, to)
	case opSetItem, opSetItems:
		return m.insert(items, to)
	}
	set, ok := to.(*Set)
	if !ok {
		return corrupt("members for %s", Kind(to))
	}
	set.Items = append(set.Items, items...)
	return m.charge(2 * slotCost * len(items))
}

// memos runs instructions of the memo.
func (m *machine) memos(op byte) (known bool, err error) {
	var at uint64
	switch op {
	case opMemoize:
		return true, m.put(uint64(len(m.memo) + len(m.strays)))
	case opGet, opPut:
		s, err := m.line()
		if err != nil {
			return true, err
		}
		if at, err = strconv.ParseUint(s, 10, 32); err != nil {
			return true, corrupt("the entry %s of the memo", brief(s))
		}
	case opBinGet, opLongBinGet, opBinPut, opLongBinPut:
		if at, err = m.number(uint64(widths[op])); err != nil {
			return true, err
		}
	default:
		return false, nil
	}
	switch op {
	case opGet, opBinGet, opLongBinGet:
		return true, m.get(at)
	}
	return true, m.put(at)
}

// names runs instructions on names, calls and references.
func (m *machine) names(op byte) (known bool, err error) {
	switch op {
	case opGlobal:
		module, err := m.line()
		if err != nil {
			return true, err
		}
		name, err := m.line()
		if err != nil {
			return true, err
		}
		return true, m.global(module, name)
	case opStackGlobal:
		v, err := m.pop(2)
		if err != nil {
			return true, err
		}
		module, ok := v[0].(string)
		name, also := v[1].(string)
		if !ok || !also {
			return true, corrupt("a name of %s and %s", Kind(v[0]), Kind(v[1]))
		}
		return true, m.global(module, name)
	case opReduce, opNewObj:
		return true, m.call()
	case opBuild:
		return true, m.build()
	case opPersID:
		s, err := m.line()
		return true, m.madeIf(&Persistent{s}, err)
	case opBinPersID:
		v, err := m.pop(1)
		if err != nil {
			return true, err
		}
		return true, m.madeIf(&Persistent{v[0]}, nil)
	}
	return false, nil
}
