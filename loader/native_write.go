package loader

import (
	"encoding/base64"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bivouac-ml/bivouac/loader/protocol"
	"github.com/bivouac-ml/bivouac/state"
)

func sortedNames(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// append appends the state document of a place, as state.Document.Marshal would:
// canonical JSON. It allocates nothing when dst has room.
func (id *identity) append(dst []byte, at *place, s *protocol.Setup) []byte {
	start := len(dst)
	dst = append(dst, '{')
	if at.batch > 0 {
		dst = append(appendField(dst, "batch", at.batch), ',')
	}
	dst = append(dst, id.head...)
	if !s.NoDigest {
		dst = append(at.digest.Append(append(dst, `,"digest":"`...)), '"')
	}
	if at.epoch > 0 {
		dst = appendField(append(dst, ','), "epoch", at.epoch)
	}
	dst = appendExtra(append(dst, `,"extra":`...), at, s)
	dst = strconv.AppendInt(append(dst, id.tail...), at.position, 10)
	dst = append(strconv.AppendInt(append(dst, `,"version":`...), state.Version, 10), '}')
	state.Seal(dst[start:])
	return dst
}

// appendExtra appends what a place holds beyond a document, its names in order.
func appendExtra(dst []byte, at *place, s *protocol.Setup) []byte {
	dst = append(dst, '{')
	if !s.NoDigest && !s.Iterable {
		dst = append(appendCoverage(append(dst, `"coverage":[`...), at.coverage), ']', ',')
	}
	dst = append(dst, `"history":[`...)
	for i, g := range at.history {
		dst = appendIntegers(comma(dst, i), g.step, g.position, g.global)
	}
	dst = appendField(append(dst, ']', ','), "index", at.index)
	if at.ledger.Count > 0 {
		dst = appendLedger(append(dst, `,"ledger":`...), at)
	}
	if at.own {
		dst = appendField(append(dst, ','), "rank", int64(s.Rank))
	}
	if at.repeated > 0 {
		dst = appendField(append(dst, ','), "repeated", at.repeated)
	}
	if at.draws > 0 || at.sampler != nil || at.cursor != nil {
		dst = appendSampler(append(dst, `,"sampler":`...), at)
	}
	if at.own && at.settle > 0 {
		dst = appendField(append(dst, ','), "settle", at.settle)
	}
	if at.since > 0 {
		dst = appendField(append(dst, ','), "since", at.since)
	}
	if len(at.spans) > 1 {
		dst = append(dst, `,"spans":[`...)
		for i, g := range at.spans {
			dst = appendIntegers(comma(dst, i), g.epoch, g.samples, g.start)
		}
		dst = append(dst, ']')
	}
	dst = appendField(append(dst, ','), "step", at.step)
	if len(at.streams) > 0 {
		dst = appendStreams(append(dst, `,"streams":[`...), at.streams)
		dst = appendField(append(dst, ']', ','), "turn", at.turn*int64(ranksOf(s)))
	}
	if len(at.ahead.bits) > 0 {
		dst = at.ahead.append(append(dst, `,"window":`...))
	}
	return append(appendField(append(dst, ','), "world", int64(s.World)), '}')
}

// ranksOf is the number of ranks that share the streams.
func ranksOf(s *protocol.Setup) int {
	if s.Iterable {
		return s.World
	}
	return 1
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

func appendCoverage(dst []byte, list [2]coverage) []byte {
	for i, c := range list {
		dst = appendField(append(comma(dst, i), '{'), "count", c.count)
		dst = appendField(append(dst, ','), "epoch", c.epoch)
		dst = appendField(append(dst, ','), "sum", c.sum)
		dst = append(appendField(append(dst, ','), "xor", c.xor), '}')
	}
	return dst
}

func appendLedger(dst []byte, at *place) []byte {
	dst = append(appendField(append(dst, '{'), "count", at.ledger.Count), `,"last":[`...)
	for i, f := range at.ledger.Last {
		dst = appendIntegers(comma(dst, i), f.Position, f.ID)
	}
	return append(state.AppendString(append(dst, `],"reason":`...), strings.ToValidUTF8(at.reason, "?")), '}')
}

func appendSampler(dst []byte, at *place) []byte {
	dst = append(dst, '{')
	if at.cursor != nil {
		dst = append(appendBytes(append(dst, `"cursor":`...), at.cursor), ',')
	}
	dst = appendField(dst, "draws", at.draws)
	if at.sampler != nil {
		dst = appendBytes(append(dst, `,"state":`...), at.sampler)
	}
	return append(dst, '}')
}

// appendStreams appends streams, those that are alike and have no state once with
// their number.
func appendStreams(dst []byte, streams []streamPlace) []byte {
	for i := 0; i < len(streams); {
		st := &streams[i]
		alike := 1
		for i+alike < len(streams) && st.plain() && streams[i+alike].plain() && streams[i+alike].items == st.items && streams[i+alike].ended == st.ended {
			alike++
		}
		dst = append(comma(dst, i), '{')
		if alike > 1 {
			dst = append(appendField(dst, "alike", int64(alike)), ',')
		}
		if st.dataset != nil {
			dst = append(appendBytes(append(dst, `"dataset":`...), st.dataset), ',')
		}
		if st.ended {
			dst = append(dst, `"ended":true,`...)
		}
		dst = appendField(dst, "items", st.items)
		if st.iterator != nil {
			dst = appendBytes(append(dst, `,"iterator":`...), st.iterator)
		}
		dst = append(dst, '}')
		i += alike
	}
	return dst
}

func (s *streamPlace) plain() bool { return s.dataset == nil && s.iterator == nil }

func (w *window) append(dst []byte) []byte {
	dst = append(dst, `{"bits":"`...)
	for _, b := range w.bits {
		if b {
			dst = append(dst, '1')
		} else {
			dst = append(dst, '0')
		}
	}
	dst = appendField(append(dst, '"', ','), "global", w.global)
	return append(appendField(append(dst, ','), "world", w.world), '}')
}

// base64Mark begins states that are not text.
const base64Mark = "base64:"

// appendBytes appends the state of somebody else: as the text that it is, or in base64.
func appendBytes(dst, b []byte) []byte {
	if text := string(b); utf8.Valid(b) && !strings.HasPrefix(text, base64Mark) {
		return state.AppendString(dst, text)
	}
	dst = append(append(dst, '"'), base64Mark...)
	return append(base64.StdEncoding.AppendEncode(dst, b), '"')
}
