package zarr

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
)

// KV reads the values of a key-value store. Implementations must be safe for
// concurrent use where arrays are read concurrently.
type KV interface {
	// Get returns a whole value, which the caller does not change. A key that is
	// not there is errs.NotFound.
	Get(ctx context.Context, key string) ([]byte, error)
	// ReadAt fills p from the offset off of a value, or fails.
	ReadAt(ctx context.Context, key string, p []byte, off int64) error
	// Size returns the length of a value in bytes. A key that is not there is
	// errs.NotFound.
	Size(ctx context.Context, key string) (int64, error)
}

// InlineKV is a KV that holds some values in memory.
type InlineKV interface {
	KV
	// Look is Size, and returns the value too where that costs nothing more; it
	// must not be changed. Otherwise value is nil.
	Look(ctx context.Context, key string) (size int64, value []byte, err error)
}

// ScatterKV is a KV that can fill several pieces of memory by one request.
type ScatterKV interface {
	KV
	// Scatter fills the pieces, in their order, from the offset off of a value, or fails. ok is false
	// if it did nothing, because ReadAt serves this value as well.
	Scatter(ctx context.Context, key string, off int64, into ...[]byte) (ok bool, err error)
}

// Array is an array open for reading. It is immutable. It is safe for concurrent use if its KV is.
type Array struct {
	*common
	prefix string
}

// common is what arrays of one store with the same metadata share.
type common struct {
	kv    KV
	meta  *Metadata
	chain *chain
	sub   []int   // shape of the smallest part that can be read by itself
	small *single // nil where there is more than one chunk, or it is not stored plainly

	indices indices // of shards
}

// KeyPrefix returns the prefix of the keys of an array of that name, as in TensorStore: a slash
// follows the name unless it ends in one, and the names "" and "/" mean an array at the root.
func KeyPrefix(name string) string {
	switch {
	case name == "" || name == "/":
		return ""
	case strings.HasSuffix(name, "/"):
		return name
	}
	return name + "/"
}

// Open reads the metadata of the array of that name, of format 3 or else 2. If there is no such
// array, the error is errs.NotFound.
func Open(ctx context.Context, kv KV, name string) (*Array, error) {
	return NewOpener(kv).Open(ctx, name)
}

// Opener opens many arrays of one store. Those whose metadata are the same bytes,
// as the scalars of a large tree, share what was made of them. It is not safe
// for concurrent use; the arrays are.
type Opener struct {
	// KeyV2 is the name of the metadata of arrays of format 2; "" means the standard name, ".zarray".
	KeyV2 string

	kv   KV
	like map[string]*Array // metadata → an array that has it
	last *Array            // the one that was met last, with its metadata
	text []byte
}

// NewOpener returns an opener for the arrays in kv.
func NewOpener(kv KV) *Opener { return &Opener{kv: kv, like: map[string]*Array{}} }

// Open is the function Open.
func (o *Opener) Open(ctx context.Context, name string) (*Array, error) {
	return o.OpenAt(ctx, KeyPrefix(name))
}

// OpenAt opens the array whose keys begin with a prefix.
func (o *Opener) OpenAt(ctx context.Context, prefix string) (*Array, error) {
	key, parse, format := prefix+V3.MetadataKey(), ParseMetadata, V3
	prefix = key[:len(prefix)]
	b, err := o.kv.Get(ctx, key)
	if isNotFound(err) {
		key2 := prefix + o.keyV2()
		if b2, err2 := o.kv.Get(ctx, key2); !isNotFound(err2) {
			key, parse, format, b, err = key2, ParseMetadataV2, V2, b2, err2
		}
	}
	if err != nil {
		return nil, errs.Wrap("zarr.Open", key, err)
	}
	if a := o.same(b); a != nil {
		return &Array{a.common, prefix}, nil
	}
	a := &Array{met.get(o.kv, format, b), prefix}
	if a.common == nil {
		m, err := parse(b, key)
		if err != nil {
			return nil, err
		}
		if a, err = newArray(o.kv, prefix, m); err != nil {
			return nil, err
		}
		met.put(format, b, a.common)
	}
	o.like[string(b)], o.last, o.text = a, a, b
	return a, nil
}

func (o *Opener) keyV2() string {
	if o.KeyV2 != "" {
		return o.KeyV2
	}
	return V2.MetadataKey()
}

// same returns an array whose metadata are these bytes, nil if none was opened.
// The version of the format is in the bytes.
func (o *Opener) same(b []byte) *Array {
	if o.last != nil && bytes.Equal(b, o.text) {
		return o.last
	}
	a, ok := o.like[string(b)]
	if ok {
		o.last, o.text = a, b
	}
	return a
}

// New returns the array of that name whose metadata is known. The array keeps m,
// which must not be changed afterwards.
func New(kv KV, name string, m *Metadata) (*Array, error) {
	return newArray(kv, KeyPrefix(name), m)
}

func newArray(kv KV, prefix string, m *Metadata) (*Array, error) {
	c, err := m.chain(&document{key: prefix + m.Format.MetadataKey()})
	if err != nil {
		return nil, err
	}
	return &Array{&common{kv: kv, meta: m, chain: c, sub: c.subChunkShape(), small: newSingle(m, c)}, prefix}, nil
}

func (a *Array) metadataKey() string { return a.prefix + a.meta.Format.MetadataKey() }

// Metadata returns the metadata, which must not be changed.
func (a *Array) Metadata() *Metadata { return a.meta }

// SubChunkShape returns the sub-chunk shape of the metadata: the shape of the smallest part that
// can be read by itself. It must not be changed.
func (a *Array) SubChunkShape() []int { return a.sub }

// ReadOptions tune reading. The zero value takes a missing chunk for an error.
type ReadOptions struct {
	FillMissing   bool  // a missing chunk holds the fill value
	MaxChunkBytes int64 // decoded size of the largest chunk that needs memory of its own; 0: DefaultMaxChunkBytes
}

// DefaultMaxChunkBytes is the default of ReadOptions.MaxChunkBytes.
const DefaultMaxChunkBytes = 4 << 30

func (o *ReadOptions) withDefaults() ReadOptions {
	var v ReadOptions
	if o != nil {
		v = *o
	}
	if v.MaxChunkBytes <= 0 {
		v.MaxChunkBytes = DefaultMaxChunkBytes
	}
	return v
}

// ReadBox reads the elements of box into dst, in C order, little-endian, as tensors hold them; dst
// must have the length of the box. It reads only the parts of chunks that the box needs, straight
// into dst if their bytes equal the bytes of the elements. After an error the content of dst is
// undefined. A missing chunk is errs.NotFound unless the options say otherwise.
func (a *Array) ReadBox(ctx context.Context, box Box, dst []byte, o *ReadOptions) error {
	if !box.Inside(a.meta.Shape) {
		return &errs.Error{Kind: errs.Invalid, Op: "zarr.ReadBox", Subject: a.metadataKey(),
			Want: "a box inside of " + a.meta.Shape.String(), Got: box.String()}
	}
	if n := box.Len() * a.meta.DType.Size(); len(dst) != n {
		return &errs.Error{Kind: errs.Invalid, Op: "zarr.ReadBox", Subject: a.metadataKey(),
			Want: itoa(n) + " bytes of memory", Got: itoa(len(dst))}
	}
	options := o.withDefaults()
	var buffer []byte
	for part, err := range a.Plan(ctx, box, o) {
		if err != nil {
			return err
		}
		if buffer, err = a.readPart(ctx, part, box, dst, buffer, options); err != nil {
			return err
		}
	}
	return nil
}

// readPart reads and decodes one part; buffer is memory for encoded bytes, which
// is returned for the next part.
func (a *Array) readPart(ctx context.Context, part *Part, box Box, dst, buffer []byte, o ReadOptions) ([]byte, error) {
	if part.Missing {
		if !o.FillMissing {
			return buffer, part.missing()
		}
		a.Fill(part, box, dst)
		return buffer, nil
	}
	if place, ok := part.Direct(box); ok {
		target := dst[place.Offset : place.Offset+place.Length]
		if err := a.kv.ReadAt(ctx, part.Key, target, part.Offset); err != nil {
			return buffer, errs.Wrap("zarr.ReadBox", part.Key, err)
		}
		suffix := make([]byte, part.Length-int64(place.Length))
		if len(suffix) > 0 {
			if err := a.kv.ReadAt(ctx, part.Key, suffix, part.Offset+int64(place.Length)); err != nil {
				return buffer, errs.Wrap("zarr.ReadBox", part.Key, err)
			}
		}
		return buffer, part.Finish(target, suffix)
	}
	encoded := part.Data
	if encoded == nil {
		if int64(cap(buffer)) < part.Length {
			buffer = make([]byte, part.Length)
		}
		encoded = buffer[:part.Length]
		if err := a.kv.ReadAt(ctx, part.Key, encoded, part.Offset); err != nil {
			return buffer, errs.Wrap("zarr.ReadBox", part.Key, err)
		}
	}
	return buffer, a.Decode(part, encoded, box, dst, &o)
}

// missing is the error for a part without bytes.
func (p *Part) missing() error {
	return &errs.Error{Kind: errs.NotFound, Op: "zarr.ReadBox", Subject: p.Key,
		Got: "no chunk for " + p.Region.String(), Remedy: "set FillMissing if the writer leaves out chunks of fill values"}
}

// isNotFound reports whether a key is not there.
func isNotFound(err error) bool { return errors.Is(err, errs.NotFound) }
