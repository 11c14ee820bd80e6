package options

import (
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/enum"
)

// Layout is how the arrays of a checkpoint are stored. A load recognises every layout by itself,
// and every layout has a manifest that covers every byte.
type Layout uint8

// The layouts.
const (
	// DefaultLayout is the layout that the other options spell, or OCDBTZarr3 if they spell none.
	DefaultLayout Layout = iota
	// OCDBTZarr2 is an OCDBT database of zarr v2 arrays.
	OCDBTZarr2
	// PlainZarr3 has a directory for each array, with its zarr.json and chunks. The name of an array
	// is the name of its directory; a "/" in it nests directories. Names that no directory can have
	// are refused. An array is one file, a shard. A compressed array has one file per 16 MiB.
	PlainZarr3
	// PlainZarr2 works like PlainZarr3 with .zarray and zarr v2 chunks. The format has no shards: each
	// chunk is a file, of 4 MiB unless chunk_byte_size is set.
	PlainZarr2
	// SafetensorsLayout is one file, model.safetensors, or several with an index where
	// the size of files or SaveOptions.Base bound them: a tree of tensors and numbers,
	// their keys joined with ".". Its metadata has the structure, so that the tree is
	// loaded as it was saved. Strings and dtypes that the format lacks are refused,
	// and so is more than one item.
	SafetensorsLayout
	// OCDBTZarr3 is what Orbax writes by default: an OCDBT database of zarr v3
	// arrays. Sub-chunks carry their checksums, which other readers check too.
	OCDBTZarr3
)

// layouts has the name of each layout and its spelling in three options of Orbax.
var layouts = [...]struct {
	name         string
	family       CheckpointLayout
	ocdbt, zarr3 Toggle
}{
	DefaultLayout:     {},
	OCDBTZarr3:        {"ocdbt-zarr3", Orbax, On, On},
	OCDBTZarr2:        {"ocdbt-zarr2", Orbax, On, Off},
	PlainZarr3:        {"zarr3", Orbax, Off, On},
	PlainZarr2:        {"zarr2", Orbax, Off, Off},
	SafetensorsLayout: {"safetensors", SafetensorsFile, Inherit, Inherit},
}

var layoutNames = func() (names []string) {
	for _, l := range layouts {
		names = append(names, l.name)
	}
	return names
}()

// Known returns l, or OCDBTZarr3 for DefaultLayout.
func (l Layout) Known() Layout {
	if l == DefaultLayout {
		return OCDBTZarr3
	}
	return l
}

// String returns "ocdbt-zarr3", "ocdbt-zarr2", "zarr3", "zarr2" or "safetensors". DefaultLayout is
// "ocdbt-zarr3".
func (l Layout) String() string { return enum.Name(l.Known(), layoutNames, "layout %d") }

// ParseLayout returns the layout of that name. An unknown name is errs.Invalid.
func ParseLayout(name string) (Layout, error) {
	return parseName[Layout](layoutNames, name, "layout")
}

// MarshalText returns String as bytes. It fails for a value that is not a constant.
func (l Layout) MarshalText() ([]byte, error) {
	_, err := ParseLayout(l.String())
	return []byte(l.String()), err
}

// UnmarshalText works like ParseLayout.
func (l *Layout) UnmarshalText(b []byte) (err error) {
	*l, err = ParseLayout(string(b))
	return err
}

// layoutOf returns the layout of Orbax that these toggles spell.
func layoutOf(ocdbt, zarr3 bool) Layout {
	for l, s := range layouts {
		if s.family == Orbax && s.ocdbt.IsOn() == ocdbt && s.zarr3.IsOn() == zarr3 {
			return Layout(l)
		}
	}
	return DefaultLayout
}

// Spelling returns l in the three options of Orbax: the family, whether arrays lie in an OCDBT
// database, and whether they are zarr v3. For DefaultLayout it leaves all three unset.
func (l Layout) Spelling() (family CheckpointLayout, ocdbt, zarr3 Toggle) {
	if int(l) >= len(layouts) { // not a layout; Validate refuses it
		return Orbax, Off, Off
	}
	s := layouts[l]
	return s.family, s.ocdbt, s.zarr3
}

// Compression is how arrays of more than 1024 bytes are compressed. Floating-point weights hardly
// shrink: leave them uncompressed if speed matters.
type Compression uint8

// The compressions. Zarr readers have the codecs of all of them.
const (
	// DefaultCompression is the compression that UseCompression says, or Uncompressed if that is not
	// set.
	DefaultCompression Compression = iota
	// Zstd is zstd.
	Zstd
	// ByteSplit puts the first bytes of all elements of a block together, then the second bytes, and
	// so on, and then compresses. Signs and exponents, which repeat, are separated from mantissas,
	// which do not. The codec is blosc with shuffle and zstd.
	ByteSplit
	// Uncompressed stores the bytes as they are.
	Uncompressed
)

var compressionNames = []string{"", "zstd", "bytesplit", "none"}

// Known returns c, or Uncompressed for DefaultCompression.
func (c Compression) Known() Compression {
	if c == DefaultCompression {
		return Uncompressed
	}
	return c
}

// String returns "none", "zstd" or "bytesplit". DefaultCompression is "none".
func (c Compression) String() string { return enum.Name(c.Known(), compressionNames, "compression %d") }

// ParseCompression returns the compression of that name. An unknown name is errs.Invalid.
func ParseCompression(name string) (Compression, error) {
	return parseName[Compression](compressionNames, name, "compression")
}

// MarshalText returns String as bytes. It fails for a value that is not a constant.
func (c Compression) MarshalText() ([]byte, error) {
	_, err := ParseCompression(c.String())
	return []byte(c.String()), err
}

// UnmarshalText works like ParseCompression.
func (c *Compression) UnmarshalText(b []byte) (err error) {
	*c, err = ParseCompression(string(b))
	return err
}

// StoredLayout returns the layout that o asks for in either spelling, never DefaultLayout.
// Spellings that contradict each other are errs.Invalid.
func (o Options) StoredLayout() (Layout, error) {
	if err := o.agreeLayout(); err != nil {
		return DefaultLayout, err
	}
	o = o.canonical()
	if o.CheckpointLayout == SafetensorsFile {
		return SafetensorsLayout, nil
	}
	return layoutOf(o.Array.Saving.UseOCDBT != Off, o.Array.Saving.UseZarr3 != Off), nil
}

// StoredCompression returns the compression that o asks for in either spelling, never
// DefaultCompression. Spellings that contradict each other are errs.Invalid.
func (o Options) StoredCompression() (Compression, error) {
	if err := o.agreeCompression(); err != nil {
		return DefaultCompression, err
	}
	o = o.canonical()
	switch {
	case o.Array.Saving.UseCompression != On:
		return Uncompressed, nil
	case o.Bivouac.Compression == DefaultCompression:
		return Zstd, nil
	}
	return o.Bivouac.Compression, nil
}

// canonical spells the layout only in the options of Orbax and the compression in both spellings,
// so that scopes overlay field by field. Contradictions stay.
func (o Options) canonical() Options {
	s := &o.Array.Saving
	if o.Bivouac.Layout != DefaultLayout && o.agreeLayout() == nil {
		o.CheckpointLayout, s.UseOCDBT, s.UseZarr3 = o.Bivouac.Layout.Spelling()
		o.Bivouac.Layout = DefaultLayout
	}
	switch c := o.Bivouac.Compression; {
	case o.agreeCompression() != nil:
	case c != DefaultCompression:
		s.UseCompression = ToggleOf(c != Uncompressed)
	case s.UseCompression == Off:
		o.Bivouac.Compression = Uncompressed
	}
	return o
}

// agreeLayout returns an error if Bivouac.Layout contradicts the spelling of Orbax.
func (o Options) agreeLayout() error {
	l, s := o.Bivouac.Layout, o.Array.Saving
	if l == DefaultLayout {
		return nil
	}
	family, ocdbt, zarr3 := l.Spelling()
	switch {
	case o.CheckpointLayout != 0 && o.CheckpointLayout != Auto && o.CheckpointLayout != family:
		return contradiction("checkpoint_layout", o.CheckpointLayout.String(), "bivouac.layout", l.String())
	case s.UseOCDBT != Inherit && s.UseOCDBT != ocdbt:
		return contradiction("array.saving.use_ocdbt", s.UseOCDBT.String(), "bivouac.layout", l.String())
	case s.UseZarr3 != Inherit && s.UseZarr3 != zarr3:
		return contradiction("array.saving.use_zarr3", s.UseZarr3.String(), "bivouac.layout", l.String())
	}
	return nil
}

func (o Options) agreeCompression() error {
	c, use := o.Bivouac.Compression, o.Array.Saving.UseCompression
	if c == DefaultCompression || use == Inherit || use.IsOn() == (c != Uncompressed) {
		return nil
	}
	return contradiction("array.saving.use_compression", use.String(), "bivouac.compression", c.String())
}

func contradiction(a, av, b, bv string) error {
	return &errs.Error{Kind: errs.Invalid, Op: "options.Validate", Subject: a,
		Got: a + ": " + av + " and " + b + ": " + bv, Remedy: "set only one of the two"}
}
