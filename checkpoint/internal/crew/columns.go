package crew

import (
	"bytes"
	"encoding/binary"
	"io"
	"strings"

	"github.com/bivouac-ml/bivouac/format/ocdbt"
)

// The lists of a report are packed into bytes: a report of a thousandth of a large checkpoint has
// thousands of keys, and the primary reads a thousand reports. Numbers are unsigned varints,
// checksums four bytes. A name is the number of bytes that it has in common with the name before,
// the number of further bytes, and these.

// mostNames bounds the bytes of the names of one list, which a few damaged bytes could claim.
const mostNames = 1 << 30

// names writes and reads names.
type names struct {
	before  string
	all     []byte // names that were read, one behind the other
	last    []byte // the name that was read last, if it was dropped
	dropped bool
}

func (n *names) append(b []byte, name string) []byte {
	common := 0
	for common < min(len(name), len(n.before)) && name[common] == n.before[common] {
		common++
	}
	n.before = name
	b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(common)), uint64(len(name)-common))
	return append(b, name[common:]...)
}

// next reads a name to the end of all, and returns its length.
func (n *names) next(r *numbers, before int) int {
	common := r.next()
	rest := r.bytes(r.next())
	if common > before || len(n.all) > mostNames {
		r.fail()
		return 0
	}
	if n.dropped {
		n.all, n.dropped = append(n.all, n.last[:common]...), false
	} else {
		n.all = append(n.all, n.all[len(n.all)-before:][:common]...)
	}
	n.all = append(n.all, rest...)
	return common + len(rest)
}

// drop takes back the last name, of that length, which the next one may begin like.
func (n *names) drop(length int) {
	n.last = append(n.last[:0], n.all[len(n.all)-length:]...)
	n.all, n.dropped = n.all[:len(n.all)-length], true
}

// fail notes that the bytes are damaged.
func (r *numbers) fail() { r.err, r.b = io.ErrUnexpectedEOF, nil }

// count returns a number of things of which each takes size bytes at least.
func (r *numbers) count(size int) int {
	n := r.next()
	if n > len(r.b)/size {
		r.fail()
		return 0
	}
	return n
}

// sum returns a checksum.
func (r *numbers) sum() uint32 {
	b := r.bytes(4)
	if b == nil {
		return 0
	}
	return binary.LittleEndian.Uint32(b)
}

// leaves are the contributions of a process to arrays.
type leaves []leafSums

// append appends the contributions.
func (list leaves) append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	var n names
	for _, l := range list {
		b = n.append(b, l.item+"\x00"+l.param)
		b = binary.AppendUvarint(b, uint64(l.size))
		b = binary.LittleEndian.AppendUint32(b, l.crc)
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(l.chunks)), uint64(len(l.sums)))
		for _, c := range l.sums {
			b = binary.LittleEndian.AppendUint32(binary.AppendUvarint(b, uint64(c.at)), c.sum)
		}
	}
	return b
}

// parseLeaves reads contributions, and returns false if b does not hold them.
func parseLeaves(b []byte) (leaves, bool) {
	r := numbers{b: b}
	out := make(leaves, r.count(9))
	ends := make([]int, len(out))
	sums := make([]chunkSum, 0, len(out))
	var n names
	length := 0
	for i := range out {
		l := &out[i]
		length = n.next(&r, length)
		ends[i] = len(n.all)
		l.size, l.crc, l.chunks = int64(r.next()), r.sum(), r.next()
		if l.chunks > mostNames {
			r.fail()
		}
		start := len(sums)
		for range r.count(5) {
			c := chunkSum{r.next(), r.sum()}
			if c.at >= l.chunks {
				r.fail()
			}
			sums = append(sums, c)
		}
		l.sums = sums[start:len(sums):len(sums)]
	}
	if r.err != nil || len(r.b) > 0 {
		return nil, false
	}
	all, start := string(n.all), 0
	for i := range out {
		name := all[start:ends[i]]
		start = ends[i]
		out[i].item, out[i].param, _ = strings.Cut(name, "\x00")
	}
	return out, true
}

// entries are entries of a database. Values that lie in its nodes are written once: arrays of one
// shape have the same metadata.
type entries []ocdbt.Entry

// append appends the entries.
func (list entries) append(b []byte) []byte {
	files, values := map[string]int{}, map[string]int{}
	var fileList, valueList []string
	number := func(of map[string]int, list *[]string, text string) int {
		i, ok := of[text]
		if !ok {
			i = len(*list)
			of[text], *list = i, append(*list, text)
		}
		return i
	}
	var body []byte
	var n names
	for _, e := range list {
		body = n.append(body, e.Key)
		if v := e.Value; v.IsInline() {
			body = binary.AppendUvarint(append(body, 0), uint64(number(values, &valueList, string(v.Inline))))
		} else {
			body = binary.AppendUvarint(body, uint64(1+number(files, &fileList, v.File.Name)))
			body = binary.AppendUvarint(binary.AppendUvarint(body, uint64(v.Offset)), uint64(v.Length))
		}
	}
	for _, list := range [][]string{fileList, valueList} {
		b = binary.AppendUvarint(b, uint64(len(list)))
		for _, text := range list {
			b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
		}
	}
	return append(binary.AppendUvarint(b, uint64(len(list))), body...)
}

// parseEntries reads entries, without those that are known with the same value. Their values lie in
// b.
func parseEntries(b []byte, known map[string][]byte) (entries, error) {
	r := numbers{b: b}
	files := make([]ocdbt.File, r.count(1))
	for i := range files {
		files[i].Name = string(r.bytes(r.next()))
	}
	values := make([][]byte, r.count(1))
	for i := range values {
		values[i] = r.bytes(r.next())
	}
	count := r.count(4)
	out := make(entries, 0, max(1, count-len(known)))
	starts := make([]int, 0, cap(out)+1)
	var n names
	length := 0
	for range count {
		length = n.next(&r, length)
		key := n.all[len(n.all)-length:]
		v := ocdbt.Ref{}
		if at := r.next(); at > len(files) {
			r.fail()
		} else if at > 0 {
			v = ocdbt.Ref{File: files[at-1], Offset: int64(r.next()), Length: int64(r.next())}
		} else if at = r.next(); at < len(values) {
			v = ocdbt.InlineRef(values[at])
			if same, ok := known[string(key)]; ok {
				if !bytes.Equal(same, v.Inline) {
					return nil, otherStorage(string(key))
				}
				n.drop(length)
				continue
			}
		} else {
			r.fail()
		}
		if r.err != nil {
			break
		}
		starts = append(starts, len(n.all)-length)
		out = append(out, ocdbt.Entry{Value: v})
	}
	if r.err != nil || len(r.b) > 0 {
		return nil, damaged("report")
	}
	starts = append(starts, len(n.all))
	all := string(n.all)
	for i := range out {
		out[i].Key = all[starts[i]:starts[i+1]]
	}
	return out, nil
}
