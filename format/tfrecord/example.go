package tfrecord

import (
	"fmt"
	"unicode/utf8"
)

// The numbers of the fields of the messages.
const (
	exampleFeatures = 1 // of Example; of SequenceExample the context
	sequenceLists   = 2 // of SequenceExample
	mapEntry        = 1 // of Features and FeatureLists
	entryKey        = 1
	entryValue      = 2
	listFeature     = 1 // of FeatureList
)

// Decoder finds features with chosen names in examples. It keeps its memory from one example to the
// next, so that decoding allocates nothing. It is not safe for concurrent use.
type Decoder struct {
	names  map[string]int
	found  []Feature
	unused Feature // of the features that nobody asked for
}

// NewDecoder returns a decoder of the features with the given names, which must differ.
func NewDecoder(names []string) *Decoder {
	d := &Decoder{names: make(map[string]int, len(names)), found: make([]Feature, len(names))}
	for i, name := range names {
		d.names[name] = i
	}
	return d
}

// Feature returns the feature with the i-th name in the example that was decoded last.
func (d *Decoder) Feature(i int) *Feature { return &d.found[i] }

// Decode reads a tf.train.Example. The features refer to the bytes of message. It checks the whole
// message. Fails with errs.Corrupt, and says at which byte, if Protocol Buffers would refuse it.
func (d *Decoder) Decode(message []byte) error {
	for i := range d.found {
		d.found[i].reset(message)
	}
	for c := (cursor{message, 0, len(message)}); c.more(); {
		x, err := c.next()
		if err != nil {
			return err
		}
		if x.number != exampleFeatures || x.wire != wireBytes {
			continue
		}
		for features := c.sub(x); features.more(); {
			x, err := features.next()
			if err != nil {
				return err
			}
			if x.number == mapEntry && x.wire == wireBytes {
				if err := d.entry(features.sub(x)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// entry reads a feature. Of two with equal names the second counts.
func (d *Decoder) entry(c cursor) error {
	entry := c
	key, err := c.next()
	if err != nil {
		return err
	}
	if key.number != entryKey || key.wire != wireBytes || !c.more() {
		return d.rare(entry)
	}
	value, err := c.next()
	if err != nil {
		return err
	}
	if value.number != entryValue || value.wire != wireBytes || c.more() {
		return d.rare(entry)
	}
	name, err := entry.name(key) // mostly: a key and then a value
	if err != nil {
		return err
	}
	return d.feature(entry.b, name).parse(c.sub(value))
}

// rare reads an entry whose fields come in another order, or more than once.
func (d *Decoder) rare(c cursor) error {
	key, err := entryName(c)
	if err != nil {
		return err
	}
	return eachValue(c, d.feature(c.b, key).parse)
}

// feature returns the feature with the given name, without values.
func (d *Decoder) feature(message, name []byte) *Feature {
	f := &d.unused
	if i, ok := d.names[string(name)]; ok {
		f = &d.found[i]
	}
	f.reset(message)
	f.present = true
	return f
}

// entryName returns the key of an entry of a map, which may come after the value.
func entryName(c cursor) (key []byte, err error) {
	for c.more() {
		x, err := c.next()
		if err != nil {
			return nil, err
		}
		if x.number == entryKey && x.wire == wireBytes {
			if key, err = c.name(x); err != nil {
				return nil, err
			}
		}
	}
	return key, nil
}

// name returns the value of a field, which is text.
func (c *cursor) name(x field) ([]byte, error) {
	key := c.b[x.from:x.to]
	if !utf8.Valid(key) {
		return nil, badMessage(x.from, "a name in UTF-8", fmt.Sprintf("%q", key[:min(len(key), 100)]))
	}
	return key, nil
}

// eachValue calls parse for each value of an entry of a map. entryName has read the entry.
func eachValue(c cursor, parse func(c cursor) error) error {
	for c.more() {
		x, err := c.next()
		if err != nil {
			return err
		}
		if x.number == entryValue && x.wire == wireBytes {
			if err := parse(c.sub(x)); err != nil {
				return err
			}
		}
	}
	return nil
}

// ParseExample returns the features of a tf.train.Example by name. They refer to the bytes of
// message. Fails with errs.Corrupt if Protocol Buffers would refuse the message.
func ParseExample(message []byte) (map[string]*Feature, error) {
	context, _, err := parse(message, false)
	return context, err
}

// ParseSequence returns the context and the lists of a tf.train.SequenceExample. Each list has a
// feature for each step. Fails like ParseExample.
func ParseSequence(message []byte) (context map[string]*Feature, lists map[string][]*Feature, err error) {
	return parse(message, true)
}

func parse(message []byte, sequence bool) (map[string]*Feature, map[string][]*Feature, error) {
	context, lists := map[string]*Feature{}, map[string][]*Feature{}
	for c := (cursor{message, 0, len(message)}); c.more(); {
		x, err := c.next()
		if err != nil {
			return nil, nil, err
		}
		if x.wire != wireBytes || x.number != exampleFeatures && (x.number != sequenceLists || !sequence) {
			continue
		}
		for entries := c.sub(x); entries.more(); {
			e, err := entries.next()
			if err != nil {
				return nil, nil, err
			}
			if e.number != mapEntry || e.wire != wireBytes {
				continue
			}
			entry := entries.sub(e)
			name, err := entryName(entry)
			if err != nil {
				return nil, nil, err
			}
			if x.number == exampleFeatures {
				f := &Feature{message: message, present: true}
				context[string(name)] = f
				err = eachValue(entry, f.parse)
			} else {
				var steps []*Feature
				err = eachValue(entry, func(c cursor) (err error) { steps, err = appendSteps(steps, c); return err })
				lists[string(name)] = steps
			}
			if err != nil {
				return nil, nil, err
			}
		}
	}
	return context, lists, nil
}

// appendSteps appends the features of a FeatureList.
func appendSteps(steps []*Feature, c cursor) ([]*Feature, error) {
	for c.more() {
		x, err := c.next()
		if err != nil {
			return nil, err
		}
		if x.number != listFeature || x.wire != wireBytes {
			continue
		}
		f := &Feature{message: c.b, present: true}
		if err := f.parse(c.sub(x)); err != nil {
			return nil, err
		}
		steps = append(steps, f)
	}
	return steps, nil
}
