package document

import (
	"encoding/base64"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bivouac-ml/bivouac/state"
)

// Append appends the state document of a place as canonical JSON, as state.Document.Marshal would
// write it. It allocates nothing if dst has room.
func (id *Identity) Append(dst []byte, at *Place, s Scope) []byte {
	start := len(dst)
	dst = append(dst, '{')
	if at.Batch > 0 {
		dst = append(appendField(dst, "batch", at.Batch), ',')
	}
	dst = append(dst, id.head...)
	if !s.NoDigest {
		dst = append(at.Digest.Append(append(dst, `,"digest":"`...)), '"')
	}
	if at.Epoch > 0 {
		dst = appendField(append(dst, ','), "epoch", at.Epoch)
	}
	dst = appendExtra(append(dst, `,"extra":`...), at, s)
	dst = strconv.AppendInt(append(dst, id.tail...), at.Position, 10)
	dst = append(strconv.AppendInt(append(dst, `,"version":`...), state.Version, 10), '}')
	state.Seal(dst[start:])
	return dst
}

// appendExtra appends the part of a place that is not in a state.Document, with its names in order.
func appendExtra(dst []byte, at *Place, s Scope) []byte {
	dst = append(dst, '{')
	if !s.NoDigest && !s.Iterable {
		dst = append(appendCoverage(append(dst, `"coverage":[`...), at.Coverage), ']', ',')
	}
	dst = append(dst, `"history":[`...)
	for i, g := range at.History {
		dst = appendIntegers(comma(dst, i), g.Step, g.Position, g.Global)
	}
	dst = appendField(append(dst, ']', ','), "index", at.Index)
	if at.Ledger.Count > 0 {
		dst = appendLedger(append(dst, `,"ledger":`...), at)
	}
	if at.Own {
		dst = appendField(append(dst, ','), "rank", int64(s.Rank))
	}
	if at.Repeated > 0 {
		dst = appendField(append(dst, ','), "repeated", at.Repeated)
	}
	if at.Draws > 0 || at.Sampler != nil || at.Cursor != nil {
		dst = appendSampler(append(dst, `,"sampler":`...), at)
	}
	if at.Own && at.Settle > 0 {
		dst = appendField(append(dst, ','), "settle", at.Settle)
	}
	if at.Since > 0 {
		dst = appendField(append(dst, ','), "since", at.Since)
	}
	if len(at.Spans) > 1 {
		dst = append(dst, `,"spans":[`...)
		for i, g := range at.Spans {
			dst = appendIntegers(comma(dst, i), g.Epoch, g.Samples, g.Start)
		}
		dst = append(dst, ']')
	}
	dst = appendField(append(dst, ','), "step", at.Step)
	if len(at.Streams) > 0 {
		dst = appendStreams(append(dst, `,"streams":[`...), at.Streams)
		dst = appendField(append(dst, ']', ','), "turn", at.Turn*int64(s.ranks()))
	}
	if len(at.Ahead.Bits) > 0 {
		dst = at.Ahead.append(append(dst, `,"window":`...))
	}
	return append(appendField(append(dst, ','), "world", int64(s.World)), '}')
}

func comma(dst []byte, i int) []byte {
	if i > 0 {
		return append(dst, ',')
	}
	return dst
}

func appendField(dst []byte, name string, v int64) []byte {
	return strconv.AppendInt(append(append(append(dst, '"'), name...), '"', ':'), v, 10)
}

func appendIntegers(dst []byte, list ...int64) []byte {
	dst = append(dst, '[')
	for i, v := range list {
		dst = strconv.AppendInt(comma(dst, i), v, 10)
	}
	return append(dst, ']')
}

func appendCoverage(dst []byte, list [2]Coverage) []byte {
	for i, c := range list {
		dst = appendField(append(comma(dst, i), '{'), "count", c.Count)
		dst = appendField(append(dst, ','), "epoch", c.Epoch)
		dst = appendField(append(dst, ','), "sum", c.Sum)
		dst = append(appendField(append(dst, ','), "xor", c.XOR), '}')
	}
	return dst
}

func appendLedger(dst []byte, at *Place) []byte {
	dst = append(appendField(append(dst, '{'), "count", at.Ledger.Count), `,"last":[`...)
	for i, f := range at.Ledger.Last {
		dst = appendIntegers(comma(dst, i), f.Position, f.ID)
	}
	return append(state.AppendString(append(dst, `],"reason":`...), strings.ToValidUTF8(at.Reason, "?")), '}')
}

func appendSampler(dst []byte, at *Place) []byte {
	dst = append(dst, '{')
	if at.Cursor != nil {
		dst = append(appendBytes(append(dst, `"cursor":`...), at.Cursor), ',')
	}
	dst = appendField(dst, "draws", at.Draws)
	if at.Sampler != nil {
		dst = appendBytes(append(dst, `,"state":`...), at.Sampler)
	}
	return append(dst, '}')
}

// appendStreams appends streams. Equal streams without a state are written once, with their number.
func appendStreams(dst []byte, streams []Stream) []byte {
	for i := 0; i < len(streams); {
		st := &streams[i]
		alike := 1
		for i+alike < len(streams) && st.plain() && streams[i+alike].plain() && streams[i+alike].Items == st.Items &&
			streams[i+alike].Ended == st.Ended {
			alike++
		}
		dst = append(comma(dst, i), '{')
		if alike > 1 {
			dst = append(appendField(dst, "alike", int64(alike)), ',')
		}
		if st.Dataset != nil {
			dst = append(appendBytes(append(dst, `"dataset":`...), st.Dataset), ',')
		}
		if st.Ended {
			dst = append(dst, `"ended":true,`...)
		}
		dst = appendField(dst, "items", st.Items)
		if st.Iterator != nil {
			dst = appendBytes(append(dst, `,"iterator":`...), st.Iterator)
		}
		dst = append(dst, '}')
		i += alike
	}
	return dst
}

func (s *Stream) plain() bool { return s.Dataset == nil && s.Iterator == nil }

func (w *Window) append(dst []byte) []byte {
	dst = append(dst, `{"bits":"`...)
	for _, b := range w.Bits {
		if b {
			dst = append(dst, '1')
		} else {
			dst = append(dst, '0')
		}
	}
	dst = appendField(append(dst, '"', ','), "global", w.Global)
	return append(appendField(append(dst, ','), "world", w.World), '}')
}

// base64Mark is the prefix of states that are not text.
const base64Mark = "base64:"

// appendBytes appends a state of other code: unchanged if it is text, else in base64.
func appendBytes(dst, b []byte) []byte {
	if text := string(b); utf8.Valid(b) && !strings.HasPrefix(text, base64Mark) {
		return state.AppendString(dst, text)
	}
	dst = append(append(dst, '"'), base64Mark...)
	return append(base64.StdEncoding.AppendEncode(dst, b), '"')
}
