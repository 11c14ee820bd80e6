package arrayrecord

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Special values in the place of a tag.
const (
	noOp = iota
	nonProto
	startOfSubmessage
	startOfMessage
)

// Wire types of protocol buffers, and one that ends a message within a message.
const (
	wireVarint = iota
	wireFixed64
	wireBytes
	wireStartGroup
	wireEndGroup
	wireFixed32
	wireEndOfSubmessage
)

// Subtypes of numbers: up to inlineFrom they are the bytes of the number less one, and from there
// on the number itself.
const (
	inlineFrom = 10
	inlineTo   = inlineFrom + 0x7f
)

// action says what a node of the state machine does. Records are decoded from the last byte to the
// first, because the size of a message stands before it.
type action uint8

const (
	actNothing action = iota
	actTag            // writes the tag
	actVarint         // a number of size bytes and the tag
	actFixed          // size bytes and the tag
	actString         // a length, as many bytes, and the tag
	actEnd            // the end of a message within a message
	actStart          // its start: writes its length and the tag of its end
	actMessage        // the start of a record
	actOpaque         // a record that is no protocol buffer
)

// node is a state.
type node struct {
	act      action
	implicit bool // the next node is the only one that follows
	size     uint8
	tagSize  uint8
	tag      [6]byte
	buffer   uint32
	next     uint32
}

// machine is the state machine of a chunk.
type machine struct {
	buffers     [][]byte
	nodes       []node
	first       uint32
	transitions []byte
	lengths     int // the buffer of the lengths of opaque records, or -1
}

// mostHeader bounds the description of a chunk.
const mostHeader = 1 << 28

// decodeTransposed decodes a chunk whose protocol buffers were taken apart.
func decodeTransposed(h header, data []byte) (*Chunk, error) {
	if len(data) == 0 {
		return nil, corrupt("a compression type", "no data")
	}
	compression := data[0]
	size, rest, err := varint(data[1:])
	if err != nil {
		return nil, err
	}
	if size > uint64(len(rest)) {
		return nil, corrupt(fmt.Sprintf("a description of %d bytes", size), fmt.Sprint(len(rest)))
	}
	text, err := expand(compression, rest[:size], mostHeader)
	if err != nil {
		return nil, err
	}
	m := &machine{lengths: -1}
	text, rest, err = m.parseBuffers(compression, text, rest[size:], 2*h.decoded+20*h.records+mostHeader)
	if err != nil {
		return nil, err
	}
	if err := m.parseNodes(text); err != nil {
		return nil, err
	}
	if m.transitions, err = expand(compression, rest, 8*(h.decoded+h.records)+mostHeader); err != nil {
		return nil, err
	}
	return m.run(h)
}

// parseBuffers finds the buffers, which lie back to back in compressed buckets.
func (m *machine) parseBuffers(compression byte, text, data []byte, limit int64) (textRest, dataRest []byte,
	err error) {
	buckets, text, err := varint32(text)
	if err != nil {
		return nil, nil, err
	}
	buffers, text, err := varint32(text)
	if err != nil {
		return nil, nil, err
	}
	if uint64(buckets) > uint64(len(text)) || uint64(buffers) > uint64(len(text)) || buckets == 0 && buffers > 0 {
		return nil, nil, corrupt("the sizes of buckets and buffers",
			fmt.Sprintf("%d bytes for %d and %d", len(text), buckets, buffers))
	}
	var expanded [][]byte
	for range buckets {
		var n uint64
		if n, text, err = varint(text); err != nil {
			return nil, nil, err
		}
		if n > uint64(len(data)) {
			return nil, nil, corrupt(fmt.Sprintf("a bucket of %d bytes", n), fmt.Sprint(len(data)))
		}
		b, err := expand(compression, data[:n], limit)
		if err != nil {
			return nil, nil, err
		}
		limit -= int64(len(b))
		expanded, data = append(expanded, b), data[n:]
	}
	for range buffers {
		var n uint64
		if n, text, err = varint(text); err != nil {
			return nil, nil, err
		}
		for len(expanded) > 1 && len(expanded[0]) == 0 {
			expanded = expanded[1:]
		}
		if n > uint64(len(expanded[0])) {
			return nil, nil, corrupt(fmt.Sprintf("a buffer of %d bytes", n),
				fmt.Sprintf("%d bytes in its bucket", len(expanded[0])))
		}
		m.buffers, expanded[0] = append(m.buffers, expanded[0][:n:n]), expanded[0][n:]
	}
	for _, b := range expanded {
		if len(b) > 0 {
			return nil, nil, corrupt("buckets that the buffers fill", fmt.Sprintf("%d further bytes", len(b)))
		}
	}
	return text, data, nil
}

// parseNodes reads the states.
func (m *machine) parseNodes(text []byte) error {
	count, text, err := varint32(text)
	if err != nil {
		return err
	}
	if uint64(count) > uint64(len(text)) {
		return corrupt(fmt.Sprintf("%d states", count), fmt.Sprintf("%d bytes", len(text)))
	}
	list := func() (out []uint32, err error) {
		out = make([]uint32, count)
		for i := range out {
			if out[i], text, err = varint32(text); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	tags, err := list()
	if err != nil {
		return err
	}
	next, err := list()
	if err != nil {
		return err
	}
	numbers := 0
	for _, tag := range tags {
		if tag >= 8 && tag&7 == wireVarint {
			numbers++
		}
	}
	if numbers > len(text) {
		return corrupt(fmt.Sprintf("%d subtypes", numbers), fmt.Sprintf("%d bytes", len(text)))
	}
	subtypes, text := text[:numbers], text[numbers:]
	m.nodes = make([]node, count)
	for i, tag := range tags {
		n, subtype := &m.nodes[i], byte(0)
		if tag >= 8 && tag&7 == wireVarint {
			subtype, subtypes = subtypes[0], subtypes[1:]
		}
		buffered, err := n.set(tag, subtype)
		if err != nil {
			return err
		}
		if buffered {
			if n.buffer, text, err = varint32(text); err != nil {
				return err
			}
			if uint64(n.buffer) >= uint64(len(m.buffers)) {
				return corrupt(fmt.Sprintf("a buffer below %d", len(m.buffers)), fmt.Sprint(n.buffer))
			}
		}
		if n.act == actOpaque {
			m.lengths = len(m.buffers) - 1
		}
		if n.implicit = next[i] >= count; n.implicit {
			next[i] -= count
		}
		if n.next = next[i]; n.next >= count {
			return corrupt(fmt.Sprintf("a state below %d", count), fmt.Sprint(n.next))
		}
	}
	if m.first, text, err = varint32(text); err != nil {
		return err
	}
	if m.first >= count || len(text) > 0 {
		return corrupt(fmt.Sprintf("a first state below %d at the end", count),
			fmt.Sprintf("%d, and %d further bytes", m.first, len(text)))
	}
	return m.checkLoops()
}

// set makes the node of a tag. buffered reports that the number of a buffer follows.
func (n *node) set(tag uint32, subtype byte) (buffered bool, err error) {
	switch tag {
	case noOp:
		return false, nil
	case nonProto:
		n.act = actOpaque
		return true, nil
	case startOfSubmessage:
		n.act = actStart
		return false, nil
	case startOfMessage:
		n.act = actMessage
		return false, nil
	}
	wire := tag & 7
	if tag < 8 || wire > wireEndOfSubmessage {
		return false, corrupt("a tag of a protocol buffer", fmt.Sprint(tag))
	}
	if wire == wireEndOfSubmessage {
		tag -= wireEndOfSubmessage - wireBytes
	}
	n.tagSize = uint8(binary.PutUvarint(n.tag[:], uint64(tag)))
	switch wire {
	case wireVarint:
		switch {
		case subtype > inlineTo:
			return false, corrupt(fmt.Sprintf("a subtype up to %d", inlineTo), fmt.Sprint(subtype))
		case subtype >= inlineFrom:
			n.act, n.tag[n.tagSize] = actTag, subtype-inlineFrom
			n.tagSize++
			return false, nil
		}
		n.act, n.size = actVarint, subtype+1
	case wireFixed32:
		n.act, n.size = actFixed, 4
	case wireFixed64:
		n.act, n.size = actFixed, 8
	case wireBytes:
		n.act = actString
	case wireStartGroup, wireEndGroup:
		n.act = actTag
		return false, nil
	default:
		n.act = actEnd
		return false, nil
	}
	return true, nil
}

// checkLoops fails if states follow each other in a circle without a transition.
func (m *machine) checkLoops() error {
	seen := make([]int, len(m.nodes)) // the walk that came by
	for i := range m.nodes {
		for j := i; seen[j] == 0 || seen[j] == i+1; j = int(m.nodes[j].next) {
			if seen[j] == i+1 {
				return corrupt("states that end", "states in a circle")
			}
			seen[j] = i + 1
			if !m.nodes[j].implicit {
				break
			}
		}
	}
	return nil
}

// backward is a buffer that is filled from its end.
type backward struct {
	b     []byte
	at    int // where the data begin
	limit int
}

func (w *backward) size() int { return len(w.b) - w.at }

// push makes room for n bytes before the others.
func (w *backward) push(n int) ([]byte, error) {
	if n > w.limit-w.size() {
		return nil, corrupt(fmt.Sprintf("records of %d bytes together", w.limit), "more")
	}
	if n > w.at {
		grown := make([]byte, min(w.limit, max(2*len(w.b), w.size()+n, 512)))
		at := len(grown) - w.size()
		copy(grown[at:], w.b[w.at:])
		w.b, w.at = grown, at
	}
	w.at -= n
	return w.b[w.at : w.at+n], nil
}

// run walks through the states and writes the records, the last first.
func (m *machine) run(h header) (*Chunk, error) {
	if len(m.nodes) == 0 {
		return nil, corrupt("a state", "none")
	}
	type open struct {
		end  int // how many bytes were written before the message
		node *node
	}
	var stack []open
	var starts []int // how many bytes were written up to the start of each record
	w := &backward{limit: int(h.decoded)}
	// A state writes something, opens a message, begins a record, or takes part in a transition.
	most := 64 * (h.decoded + int64(len(m.transitions)) + min(h.records, 8*int64(len(m.transitions))) + 64)
	at, transitions := m.first, m.transitions
	again := 0
	if m.nodes[at].implicit {
		again = 1
	}
	for ; most > 0; most-- {
		n := &m.nodes[at]
		var err error
		switch n.act {
		case actEnd:
			stack = append(stack, open{w.size(), n})
		case actStart:
			if len(stack) == 0 {
				return nil, corrupt("a message within a message", "its start without its end")
			}
			last := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			var head [16]byte
			k := copy(head[:], last.node.tag[:last.node.tagSize])
			k += binary.PutUvarint(head[k:], uint64(w.size()-last.end))
			err = w.write(head[:k])
		case actOpaque, actMessage:
			if n.act == actOpaque {
				err = m.opaque(w, n)
			}
			if len(stack) > 0 || int64(len(starts)) == h.records {
				return nil, corrupt(fmt.Sprintf("%d records", h.records), "more, or a record within a message")
			}
			starts = append(starts, w.size())
		case actNothing:
		default:
			err = m.value(w, n)
		}
		if err != nil {
			return nil, err
		}
		at = n.next
		if again > 0 {
			if !m.nodes[at].implicit {
				again--
			}
			continue
		}
		if len(transitions) == 0 {
			return m.finish(h, w, starts, len(stack))
		}
		t := transitions[0]
		transitions = transitions[1:]
		if at += uint32(t >> 2); int64(at) >= int64(len(m.nodes)) {
			return nil, corrupt(fmt.Sprintf("a state below %d", len(m.nodes)), fmt.Sprint(at))
		}
		again = int(t & 3)
		if m.nodes[at].implicit {
			again++
		}
	}
	return nil, corrupt("states that write records", "states that write nothing")
}

// finish makes the chunk of the records.
func (m *machine) finish(h header, w *backward, starts []int, open int) (*Chunk, error) {
	total := w.size()
	if open > 0 || int64(len(starts)) != h.records || int64(total) != h.decoded || len(starts) > 0 &&
		starts[len(starts)-1] != total {
		return nil, corrupt(fmt.Sprintf("%d records of %d bytes", h.records, h.decoded),
			fmt.Sprintf("%d of %d bytes", len(starts), total))
	}
	// The first start belongs to the last record, which ends with the buffer.
	slices.Reverse(starts)
	ends := make([]int, len(starts))
	for i := range starts {
		ends[i] = total
		if i+1 < len(starts) {
			ends[i] = total - starts[i+1]
		}
	}
	return &Chunk{data: w.b[w.at:], ends: ends}, nil
}

func (w *backward) write(p []byte) error {
	to, err := w.push(len(p))
	copy(to, p)
	return err
}

// take takes n bytes from a buffer.
func (m *machine) take(buffer uint32, n uint64) ([]byte, error) {
	b := m.buffers[buffer]
	if n > uint64(len(b)) {
		return nil, corrupt(fmt.Sprintf("%d bytes in buffer %d", n, buffer), fmt.Sprint(len(b)))
	}
	m.buffers[buffer] = b[n:]
	return b[:n], nil
}

// opaque writes a record that is no protocol buffer.
func (m *machine) opaque(w *backward, n *node) error {
	length, rest, err := varint32(m.buffers[m.lengths])
	if err != nil {
		return err
	}
	m.buffers[m.lengths] = rest
	b, err := m.take(n.buffer, uint64(length))
	if err != nil {
		return err
	}
	return w.write(b)
}

// value writes a tag and its value.
func (m *machine) value(w *backward, n *node) error {
	length := uint64(n.size)
	if n.act == actString {
		size, rest, err := varint32(m.buffers[n.buffer])
		if err != nil {
			return err
		}
		length = uint64(len(m.buffers[n.buffer])-len(rest)) + uint64(size) // the length stands in the record too
	}
	var value []byte
	if n.act != actTag {
		var err error
		if value, err = m.take(n.buffer, length); err != nil {
			return err
		}
	}
	to, err := w.push(int(n.tagSize) + len(value))
	if err != nil {
		return err
	}
	copy(to, n.tag[:n.tagSize])
	to = to[n.tagSize:]
	copy(to, value)
	if n.act == actVarint {
		for i := range len(to) - 1 {
			to[i] |= 0x80
		}
	}
	return nil
}
