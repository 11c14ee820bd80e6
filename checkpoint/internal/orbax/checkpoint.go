package orbax

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
)

// Checkpoint is the content of _CHECKPOINT_METADATA.
type Checkpoint struct {
	Handlers    map[string]string // item → handler type string; nil if absent
	Flat        string            // handler of a flat V0 checkpoint, where item_handlers is one string
	Init        int64             // Unix nanoseconds, 0 when absent
	Commit      int64             // Unix nanoseconds, 0 when absent
	Custom      json.RawMessage   // the user's JSON object, nil when absent or null
	Performance map[string]float64

	// Refused lists reasons for Orbax not to read the document. It is not written.
	Refused []string
}

// Append appends the document.
func (c Checkpoint) Append(dst []byte) []byte {
	dst = slices.Grow(dst, 512+256*len(c.Handlers)+len(c.Custom)) // the metadata of the user may be large
	dst = append(dst, `{"item_handlers": `...)
	switch {
	case c.Flat != "":
		dst = appendString(dst, c.Flat)
	default:
		names := make([]string, 0, len(c.Handlers))
		for n := range c.Handlers {
			names = append(names, n)
		}
		sort.Strings(names)
		dst = append(dst, '{')
		for i, n := range names {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = appendString(dst, n)
			dst = append(dst, ": "...)
			dst = appendString(dst, c.Handlers[n])
		}
		dst = append(dst, '}')
	}
	dst = append(dst, `, "metrics": {}, "performance_metrics": {}, "init_timestamp_nsecs": `...)
	dst = strconv.AppendInt(dst, c.Init, 10)
	dst = append(dst, `, "commit_timestamp_nsecs": `...)
	dst = strconv.AppendInt(dst, c.Commit, 10)
	dst = append(dst, `, "custom_metadata": `...)
	if c.Custom == nil {
		dst = append(dst, "{}"...)
	} else {
		dst = append(dst, c.Custom...)
	}
	return append(dst, '}')
}

// ParseCheckpoint reads _CHECKPOINT_METADATA. Custom shares memory with b. Every member is
// optional. If there is no custom metadata, unknown members become custom metadata, as in Orbax. If
// there is, Orbax refuses unknown members.
func ParseCheckpoint(b []byte) (Checkpoint, error) {
	var c Checkpoint
	ms, err := members(b)
	if err != nil {
		return c, corrupt(CheckpointFile, "%v", err)
	}
	var unknown []member
	for _, m := range ms {
		if !slices.Contains(checkpointMembers, m.key) {
			unknown = append(unknown, m)
			continue
		}
		if isNull(m.value) {
			continue
		}
		var err error
		switch m.key {
		case "item_handlers":
			if len(m.value) > 0 && m.value[0] == '"' {
				err = json.Unmarshal(m.value, &c.Flat)
				break
			}
			var hs map[string]*string
			if err = json.Unmarshal(m.value, &hs); err == nil {
				c.Handlers = make(map[string]string, len(hs))
				for k, v := range hs {
					if v != nil {
						c.Handlers[k] = *v
					} else {
						c.Handlers[k] = ""
					}
				}
			}
		case "init_timestamp_nsecs":
			c.Init, err = c.nanos(m)
		case "commit_timestamp_nsecs":
			c.Commit, err = c.nanos(m)
		case "custom_metadata":
			_, err = members(m.value)
			c.Custom = m.value
		case "performance_metrics":
			err = json.Unmarshal(m.value, &c.Performance)
		case "metrics":
			_, err = members(m.value)
		}
		if err != nil {
			return c, corrupt(CheckpointFile, "member %q: %v", m.key, err)
		}
	}
	return c, c.add(unknown)
}

// checkpointMembers are the members of _CHECKPOINT_METADATA that Orbax 0.12.8 writes.
var checkpointMembers = []string{"item_handlers", "metrics", "performance_metrics", "init_timestamp_nsecs",
	"commit_timestamp_nsecs", "custom_metadata"}

// add turns members that this version of Orbax does not know into custom metadata.
func (c *Checkpoint) add(unknown []member) error {
	if len(unknown) == 0 {
		return nil
	}
	if c.Custom != nil {
		custom, err := members(c.Custom)
		if err != nil {
			return corrupt(CheckpointFile, "member %q: %v", "custom_metadata", err)
		}
		if len(custom) > 0 {
			c.Refused = append(c.Refused, fmt.Sprintf("it has custom metadata and the unknown member %q", unknown[0].key))
			return nil
		}
	}
	b := []byte{'{'}
	for i, m := range unknown {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(append(appendString(b, m.key), ": "...), m.value...)
	}
	c.Custom = append(b, '}')
	return nil
}

// nanos reads a time stamp. It is an integer, or in early versions a float, which Orbax refuses
// today.
func (c *Checkpoint) nanos(m member) (int64, error) {
	n, err := strconv.ParseInt(string(m.value), 10, 64)
	if err == nil {
		return n, nil
	}
	f, ferr := strconv.ParseFloat(string(m.value), 64)
	if ferr != nil || math.Abs(f) > 1<<62 {
		return 0, err
	}
	c.Refused = append(c.Refused, fmt.Sprintf("%s is not an integer", m.key))
	return int64(f), nil
}

// AppendRoot appends metadata/_ROOT_METADATA of a directory of steps.
func AppendRoot(dst []byte, custom json.RawMessage) []byte {
	dst = append(dst, `{"internal_metadata": {}, "custom_metadata": `...)
	if custom == nil {
		custom = json.RawMessage("{}")
	}
	dst = append(dst, custom...)
	return append(dst, '}')
}

// ParseRoot returns the custom metadata of metadata/_ROOT_METADATA, or nil if it has no custom
// metadata.
func ParseRoot(b []byte) (json.RawMessage, error) {
	ms, err := members(b)
	if err != nil {
		return nil, corrupt(RootFile, "%v", err)
	}
	var custom json.RawMessage
	for _, m := range ms {
		if m.key == "custom_metadata" && !isNull(m.value) {
			if _, err := members(m.value); err != nil {
				return nil, corrupt(RootFile, "custom_metadata: %v", err)
			}
			custom = m.value
		}
	}
	return custom, nil
}

// Custom encodes custom metadata: nil, a json.RawMessage or any value that
// encodes to a JSON object. It returns nil for nil.
func Custom(v any) (json.RawMessage, error) {
	if v == nil {
		return nil, nil
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, &errs.Error{Kind: errs.Invalid, Want: "a value that encodes to a JSON object", Err: err}
	}
	if isNull(raw) {
		return nil, nil
	}
	if _, err := members(raw); err != nil {
		return nil, &errs.Error{Kind: errs.Invalid, Want: "a value that encodes to a JSON object", Err: err}
	}
	return raw, nil
}
