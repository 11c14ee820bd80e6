package options

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"io/fs"
	"math"
	"reflect"
	"strconv"
	"time"

	"github.com/bivouac-ml/bivouac/internal/enum"
	"github.com/bivouac-ml/bivouac/tensor"
)

// codec is the text form of a type that has one of its own. decode fails with
// what it wants, and encode is given no zero value.
type codec struct {
	want   string
	decode func(value) (any, bool)
	encode func(reflect.Value) value
}

// codecs are those types; others have the form of their Go kind.
var codecs = map[reflect.Type]codec{
	reflect.TypeFor[Toggle](): {
		want: "true or false",
		decode: func(v value) (any, bool) {
			return ToggleOf(v.text == "true"), v.kind == kindBool
		},
		encode: func(v reflect.Value) value { return value{kind: kindBool, text: v.Interface().(Toggle).String()} },
	},
	reflect.TypeFor[Limit](): {
		want: "bytes, 1 or more, or null for no bound",
		decode: func(v value) (any, bool) {
			if v.kind == kindNull {
				return Limit(Unlimited), true
			}
			n, err := integer(v)
			return Limit(n), err == nil && (n > 0 || n == Unlimited)
		},
		encode: func(v reflect.Value) value {
			if v.Int() == Unlimited {
				return value{kind: kindNull}
			}
			return number(v.Int())
		},
	},
	reflect.TypeFor[FileSize](): {
		want: "bytes, or 0 for no bound",
		decode: func(v value) (any, bool) {
			n, err := integer(v)
			if n == 0 {
				n = Unlimited
			}
			return FileSize(n), err == nil && (n > 0 || n == Unlimited)
		},
		encode: func(v reflect.Value) value { return number(max(0, v.Int())) },
	},
	reflect.TypeFor[time.Duration](): {
		want:   "seconds, more than 0, or -1 for no bound",
		decode: decodeSeconds,
		encode: func(v reflect.Value) value {
			if v.Int() < 0 {
				return number(Unlimited)
			}
			return value{kind: kindNumber, text: strconv.FormatFloat(time.Duration(v.Int()).Seconds(), 'f', -1, 64)}
		},
	},
	reflect.TypeFor[*Host](): {
		want: "a process, or null for every process",
		decode: func(v value) (any, bool) {
			if v.kind == kindNull {
				return new(EveryHost), true
			}
			n, err := integer(v)
			return new(Host(n)), err == nil && n >= 0 && n <= math.MaxInt32
		},
		encode: func(v reflect.Value) value {
			if v.Elem().Int() == int64(EveryHost) {
				return value{kind: kindNull}
			}
			return number(v.Elem().Int())
		},
	},
	reflect.TypeFor[fs.FileMode](): {
		want: "a number of permission bits",
		decode: func(v value) (any, bool) {
			n, err := integer(v)
			return fs.FileMode(n), err == nil && n > 0 && n <= math.MaxUint32
		},
		encode: func(v reflect.Value) value { return number(int64(v.Uint())) },
	},
	reflect.TypeFor[ed25519.PublicKey](): {
		want: "32 bytes in base64",
		decode: func(v value) (any, bool) {
			b, err := base64.StdEncoding.Strict().DecodeString(v.text)
			return ed25519.PublicKey(b), err == nil && v.kind == kindString && len(b) == ed25519.PublicKeySize
		},
		encode: func(v reflect.Value) value {
			return value{kind: kindString, text: base64.StdEncoding.EncodeToString(v.Bytes())}
		},
	},
	reflect.TypeFor[tensor.DType](): {
		want: "the name of an element type",
		decode: func(v value) (any, bool) {
			d, err := tensor.ParseDType(v.text)
			return d, err == nil && v.kind == kindString && d.Valid()
		},
		encode: stringOf,
	},
	reflect.TypeFor[Layout]():           choice[Layout](layoutNames, "layout"),
	reflect.TypeFor[Compression]():      choice[Compression](compressionNames, "compression"),
	reflect.TypeFor[CheckpointLayout](): choice[CheckpointLayout](checkpointLayouts, "checkpoint layout"),
	reflect.TypeFor[AtomicityMode]():    choice[AtomicityMode](atomicityModes, "atomicity mode"),
	reflect.TypeFor[PathwaysImpl]():     choice[PathwaysImpl](pathwaysImpls, "pathways implementation"),
}

func choice[V enum.Value](names []string, what string) codec {
	want := "one of"
	for _, n := range names[1:] {
		want += " " + n
	}
	return codec{
		want: want,
		decode: func(v value) (any, bool) {
			x, err := parseName[V](names, v.text, what)
			return x, err == nil && v.kind == kindString
		},
		encode: stringOf,
	}
}

func stringOf(v reflect.Value) value {
	return value{kind: kindString, text: v.Interface().(interface{ String() string }).String()}
}

func number(i int64) value { return value{kind: kindNumber, text: strconv.FormatInt(i, 10)} }

var errNumber = errors.New("no integer")

// integer reads a number without a fraction: 2, but also 2.0 and 2e9, which
// some writers make of large ones.
func integer(v value) (int64, error) {
	if v.kind != kindNumber {
		return 0, errNumber
	}
	if i, err := strconv.ParseInt(v.text, 10, 64); err == nil {
		return i, nil
	}
	f, err := strconv.ParseFloat(v.text, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, errNumber
	}
	return int64(f), nil
}

func decodeSeconds(v value) (any, bool) {
	f, err := strconv.ParseFloat(v.text, 64)
	if v.kind != kindNumber || err != nil {
		return nil, false
	}
	if f == Unlimited {
		return time.Duration(Unlimited), true
	}
	ns := math.Round(f * float64(time.Second))
	return time.Duration(ns), ns >= 1 && ns < math.MaxInt64
}
