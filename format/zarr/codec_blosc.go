package zarr

import (
	"encoding/json"

	"github.com/bivouac-ml/bivouac/format/zarr/internal/blosc"
)

// BloscOptions say how the codec blosc writes chunks. The zero value is TensorStore's default: lz4
// of level 5, shuffled.
type BloscOptions struct {
	Codec     string  // "blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"; "": lz4
	Level     int     // 1 … 9; 0: 5
	Shuffle   Shuffle // of the elements' bytes
	BlockSize int     // in bytes; 0: chosen
}

// Shuffle is how the codec blosc reorders bytes before it compresses them.
type Shuffle int

// The shuffles. AutoShuffle is by bits for types of one byte and by bytes for
// others.
const (
	AutoShuffle Shuffle = iota
	NoShuffle
	ByteShuffle
	BitShuffle
)

// shuffleNames are the names of format 3.
var shuffleNames = [...]string{NoShuffle: "noshuffle", ByteShuffle: "shuffle", BitShuffle: "bitshuffle"}

// Blosc returns the codec that compresses its input into one c-blosc 1 chunk.
func Blosc(o BloscOptions) CodecSpec {
	if o.Codec == "" {
		o.Codec = "lz4"
	}
	if o.Level == 0 {
		o.Level = defaultBloscLevel
	}
	return CodecSpec{Name: "blosc", Config: map[string]any{
		"cname": o.Codec, "clevel": o.Level, "shuffle": o.Shuffle, "blocksize": o.BlockSize}}
}

const defaultBloscLevel = 5

// bloscCodec is the codec blosc, and the compressor of format 2, which names
// shuffles by numbers and takes the type size from the array.
type bloscCodec struct {
	format   Format
	params   blosc.Params
	shuffle  Shuffle // as metadata names it
	typeSize int     // as metadata names it; 0: not
	encoder  *blosc.Encoder
}

func newBlosc(config object, elementSize int) byteCodec {
	d := config.d
	z := &bloscCodec{format: d.format}
	name := config.text("cname", "lz4")
	codec, ok := blosc.ParseCodec(name)
	if !ok {
		d.corrupt("cname %q of codec blosc", name)
	}
	z.params = blosc.Params{
		Codec:     codec,
		Level:     config.integer("clevel", 0, 9, defaultBloscLevel),
		BlockSize: config.integer("blocksize", 0, blosc.MaxSize, 0),
		TypeSize:  elementSize,
	}
	if d.format == V3 {
		z.typeSize = config.integer("typesize", 1, blosc.MaxTypeSize, 0)
		if z.typeSize > 0 {
			z.params.TypeSize = z.typeSize
		}
	}
	z.shuffle = config.shuffle()
	if d.err != nil {
		return nil
	}
	switch z.shuffle {
	case ByteShuffle:
		z.params.Shuffle = blosc.ByteShuffle
	case BitShuffle:
		z.params.Shuffle = blosc.BitShuffle
	case AutoShuffle:
		z.params.Shuffle = blosc.ByteShuffle
		if z.params.TypeSize == 1 {
			z.params.Shuffle = blosc.BitShuffle
		}
	}
	if z.typeSize == 0 && z.params.Shuffle != blosc.NoShuffle {
		z.typeSize = z.params.TypeSize
	}
	z.encoder = blosc.NewEncoder(z.params)
	return z
}

// shuffle takes a shuffle: a name in format 3, a number from -1 on in format 2,
// a Shuffle where Go code made the metadata.
func (o object) shuffle() Shuffle {
	v, ok := o.take("shuffle")
	if !ok {
		return AutoShuffle
	}
	switch v := v.(type) {
	case Shuffle:
		if v >= AutoShuffle && v <= BitShuffle {
			return v
		}
	case string:
		for s := NoShuffle; s <= BitShuffle && o.d.format == V3; s++ {
			if v == shuffleNames[s] {
				return s
			}
		}
	case json.Number, int:
		if n, ok := integer(v); ok && n >= -1 && n <= 2 && o.d.format == V2 {
			return Shuffle(n + 1)
		}
	}
	o.d.corrupt("shuffle %v of %s", v, o.name)
	return AutoShuffle
}

func (z *bloscCodec) spec() CodecSpec {
	config := map[string]any{"cname": z.params.Codec.String(), "clevel": z.params.Level, "blocksize": z.params.BlockSize}
	if z.format == V2 {
		config["shuffle"] = int(z.shuffle) - 1
		return CodecSpec{Name: "blosc", Config: config}
	}
	config["shuffle"] = shuffleNames[1+z.params.Shuffle]
	if z.typeSize > 0 {
		config["typesize"] = z.typeSize
	}
	return CodecSpec{Name: "blosc", Config: config}
}

func (*bloscCodec) size(int) (int, bool) { return 0, false }

func (*bloscCodec) bound(n int) int { return blosc.Bound(n) }

func (*bloscCodec) limit() int { return blosc.MaxSize }

func (z *bloscCodec) encode(dst, src []byte) []byte { return z.encoder.Append(dst, src) }

func (*bloscCodec) decode(dst, src []byte, limit int) ([]byte, error) {
	return blosc.Decode(dst, src, limit)
}
