// Package tensorboardtest reads event files as TensorBoard does, for tests.
package tensorboardtest

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/bivouac-ml/bivouac/format/tfrecord"
	"google.golang.org/protobuf/encoding/protowire"
)

// Point is a value of a scalar.
type Point struct {
	Step  int64
	Wall  float64
	Value float32
}

// Read returns the scalars of all event files of a directory by their names. It reads the files in
// the order of their names, and drops what a start supersedes. A file may end within a record.
func Read(dir string) (map[string][]Point, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	all := map[string][]Point{}
	for _, e := range entries {
		if strings.Contains(e.Name(), "tfevents") {
			if err := readFile(filepath.Join(dir, e.Name()), all); err != nil {
				return nil, fmt.Errorf("%s: %w", e.Name(), err)
			}
		}
	}
	return all, nil
}

func readFile(name string, all map[string][]Point) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	r, err := tfrecord.NewReader(f)
	for first := true; err == nil; first = false {
		var b []byte
		if b, err = r.Next(); err != nil {
			break
		}
		var e event
		if err := e.read(b); err != nil {
			return err
		}
		if first != (e.version == "brain.Event:2") {
			return fmt.Errorf("file version %q, first record %v", e.version, first)
		}
		for tag, points := range all {
			if e.start {
				all[tag] = before(points, e.step)
			}
		}
		for _, v := range e.values {
			all[v.tag] = append(all[v.tag], Point{e.step, e.wall, v.value})
		}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// before returns the points of steps before one.
func before(points []Point, step int64) (kept []Point) {
	for _, p := range points {
		if p.Step < step {
			kept = append(kept, p)
		}
	}
	return kept
}

type value struct {
	tag   string
	value float32
}

// event is a message tensorflow.Event.
type event struct {
	wall    float64
	step    int64
	version string
	start   bool
	values  []value
}

func (e *event) read(b []byte) error {
	return fields(b, func(n protowire.Number, b []byte, v uint64) error {
		switch n {
		case 1:
			e.wall = math.Float64frombits(v)
		case 2:
			e.step = int64(v)
		case 3:
			e.version = string(b)
		case 5:
			return fields(b, func(_ protowire.Number, b []byte, _ uint64) error {
				var one value
				err := fields(b, func(n protowire.Number, b []byte, v uint64) error {
					switch n {
					case 1:
						one.tag = string(b)
					case 2:
						one.value = math.Float32frombits(uint32(v))
					}
					return nil
				})
				e.values = append(e.values, one)
				return err
			})
		case 7:
			return fields(b, func(n protowire.Number, _ []byte, v uint64) error {
				e.start = n == 1 && v == 1
				return nil
			})
		}
		return nil
	})
}

// fields calls f for each field of a message.
func fields(b []byte, f func(n protowire.Number, b []byte, v uint64) error) error {
	for len(b) > 0 {
		n, kind, size := protowire.ConsumeTag(b)
		if size < 0 {
			return protowire.ParseError(size)
		}
		b = b[size:]
		var text []byte
		var v uint64
		switch kind {
		case protowire.VarintType:
			v, size = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			v, size = protowire.ConsumeFixed64(b)
		case protowire.Fixed32Type:
			var short uint32
			short, size = protowire.ConsumeFixed32(b)
			v = uint64(short)
		default:
			text, size = protowire.ConsumeBytes(b)
		}
		if size < 0 {
			return protowire.ParseError(size)
		}
		if err := f(n, text, v); err != nil {
			return err
		}
		b = b[size:]
	}
	return nil
}
