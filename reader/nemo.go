package reader

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"sync"

	"github.com/bivouac-ml/bivouac/codec/audio"
	_ "github.com/bivouac-ml/bivouac/codec/wav" // the format that is always there
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/nemo"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader/datafs"
	"github.com/bivouac-ml/bivouac/reader/internal/loaderargs"
	"github.com/bivouac-ml/bivouac/reader/shards"
	"github.com/bivouac-ml/bivouac/state"
	"github.com/bivouac-ml/bivouac/tensor"
)

const nemoName = "readers.nemo_asr"

func init() {
	s := op.Schema{
		Name: "nemo_asr", Module: []string{"readers"},
		Doc: "Reads audio and text of manifests in NeMo's format, JSON objects with audio_filepath, duration and text. The outputs are the " +
			"audio, then the rate, the text and the index. Paths of audio files are relative to the working directory. The offset " +
			"and the duration of an entry are a part of its file. Files are decoded as by decoders.audio. A program that makes no pipeline decodes WAV, and the formats of codec that it imports.",
		Outputs: []op.Port{
			{Name: "audio", Doc: "of shape [frames], or without downmix [frames, channels]"},
			{Name: "rates", Doc: "with read_sample_rate the rate of the file, float32 of shape []"},
			{Name: "texts", Doc: "with read_text the bytes of the text, uint8"},
			{Name: "indices", Doc: "with read_idxs the place of the sample in its manifest, int64 of shape [1]"},
		},
		OutputCount: func(c *op.Config) (int, error) { list, err := nemoOutputs(c); return len(list), err },
		Params: loaderargs.With(
			op.Parameter{Name: "manifest_filepaths", Type: op.Strings, Required: true, Tuning: true, Doc: "Paths of manifests, whose entries come one manifest after the other."},
			op.Parameter{Name: "min_duration", Type: op.Float, Default: 0.0, Tuning: true, Doc: "Leaves shorter samples out, in seconds; 0 keeps all."},
			op.Parameter{Name: "max_duration", Type: op.Float, Default: 0.0, Tuning: true, Doc: "Leaves longer samples out, in seconds; 0 keeps all."},
			op.Parameter{Name: "dtype", Type: op.DType, Default: tensor.Float32, Doc: "Type of the audio: float32, int32 or int16. Integers fill the type."},
			op.Parameter{Name: "downmix", Type: op.Bool, Default: true, Doc: "Takes the mean of the channels. Integers of several channels need downmix false."},
			op.Parameter{Name: "sample_rate", Type: op.Float, Default: -1.0, Doc: "The rate to which samples are resampled; by default they keep theirs."},
			op.Parameter{Name: "quality", Type: op.Float, Default: 50.0, Doc: "Quality of resampling, 0 to 100; see audio_resample."},
			op.Parameter{Name: "read_sample_rate", Type: op.Bool, Default: true, Doc: "Adds an output with the rates."},
			op.Parameter{Name: "read_text", Type: op.Bool, Default: true, Doc: "Adds an output with the texts."},
			op.Parameter{Name: "read_idxs", Type: op.Bool, Default: false, Doc: "Adds an output with the indices."},
			op.Parameter{Name: "normalize_text", Type: op.Bool, Tuning: true, Deprecated: "it has no effect", Doc: "Ignored."},
		),
	}
	o := Opener{Outputs: nemoOutputs, Open: openNemo}
	Register(s, o)
	alias("nemo_asr_reader", s, o)
}

func nemoOutputs(c *op.Config) ([]tensor.Spec, error) {
	d, low, high := op.Get[tensor.DType](c, "dtype"), op.Get[float64](c, "min_duration"), op.Get[float64](c,
		"max_duration")
	switch {
	case d != tensor.Float32 && d != tensor.Int32 && d != tensor.Int16:
		return nil, c.Invalid("dtype", "float32, int32 or int16", d.String(), "")
	case !(low >= 0):
		return nil, c.Invalid("min_duration", "at least 0", fmt.Sprint(low), "")
	case !(high >= 0) || high > 0 && high < low:
		return nil, c.Invalid("max_duration", fmt.Sprintf("0, or at least min_duration, %v", low), fmt.Sprint(high), "")
	case !(op.Get[float64](c, "quality") >= 0 && op.Get[float64](c, "quality") <= 100):
		return nil, c.Invalid("quality", "a number from 0 to 100", fmt.Sprint(op.Get[float64](c, "quality")), "")
	case len(op.Get[[]string](c, "manifest_filepaths")) == 0:
		return nil, c.Invalid("manifest_filepaths", "at least one path", "none", "")
	}
	list := []tensor.Spec{{DType: d, Shape: tensor.Shape{-1}}}
	if !op.Get[bool](c, "downmix") {
		list[0].Shape = tensor.Shape{-1, -1}
	}
	if op.Get[bool](c, "read_sample_rate") {
		list = append(list, tensor.Spec{DType: tensor.Float32, Shape: tensor.Shape{}})
	}
	if op.Get[bool](c, "read_text") {
		list = append(list, tensor.Spec{DType: tensor.Uint8, Shape: tensor.Shape{-1}})
	}
	if op.Get[bool](c, "read_idxs") {
		list = append(list, tensor.Spec{DType: tensor.Int64, Shape: tensor.Shape{1}})
	}
	return list, loaderargs.Check(c)
}

// nemoSource is the entries of manifests. It has no pointer per entry.
type nemoSource struct {
	info                 Info
	set                  *shards.Set
	texts                []byte // back to back
	textEnds             []int64
	indices              []int64      // of each entry in its manifest
	parts                [][2]float64 // of each entry: its offset and its duration, in seconds
	dtype                tensor.DType
	downmix              bool
	rate                 float64
	converter            *audio.Converter
	decoders             sync.Pool // of *audio.Decoder
	hasRate, hasText, id bool
}

func openNemo(ctx context.Context, c *op.Config) (Source, error) {
	if _, err := nemoOutputs(c); err != nil {
		return nil, err
	}
	s := &nemoSource{dtype: op.Get[tensor.DType](c, "dtype"), downmix: op.Get[bool](c, "downmix"),
		rate:    max(0, op.Get[float64](c, "sample_rate")), // 0: the rate of the file
		hasRate: op.Get[bool](c, "read_sample_rate"), hasText: op.Get[bool](c, "read_text"), id: op.Get[bool](c, "read_idxs")}
	var err error
	if s.converter, err = audio.NewConverter(s.downmix, op.Get[float64](c, "quality")); err != nil {
		return nil, err
	}
	manifests, err := shards.Open(ctx, nemoName, op.Get[[]string](c, "manifest_filepaths"))
	if err != nil {
		return nil, err
	}
	defer manifests.Close()
	low, high := op.Get[float64](c, "min_duration"), op.Get[float64](c, "max_duration")
	var paths []string
	for i := range manifests.Len() {
		index := int64(0)
		err := nemo.Parse(manifests.Reader(ctx, i), func(e nemo.Entry) error {
			if low > 0 && e.Duration < low || high > 0 && e.Duration > high {
				return nil
			}
			paths = append(paths, filepath.FromSlash(string(e.Path)))
			s.texts = append(s.texts, e.Text...)
			s.textEnds = append(s.textEnds, int64(len(s.texts)))
			s.indices, s.parts = append(s.indices, index), append(s.parts, [2]float64{e.Offset, e.Duration})
			index++
			return nil
		})
		if err != nil {
			return nil, errs.Wrap(nemoName, manifests.Path(i), err)
		}
	}
	if len(paths) == 0 {
		return nil, &errs.Error{Kind: errs.Invalid, Op: nemoName, Subject: manifests.Path(0), Want: "at least one entry",
			Got:    "none",
			Remedy: "check the manifest, min_duration and max_duration"}
	}
	if s.set, err = shards.Open(ctx, nemoName, paths); err != nil {
		return nil, err
	}
	s.info = Info{Format: nemoName, Samples: int64(len(paths)), Fingerprint: s.fingerprint()}
	return s, nil
}

// fingerprint hashes the texts, the indices and the sizes of the files. It does not read the files,
// and leaves their names out: they are absolute or relative to where the program runs.
func (s *nemoSource) fingerprint() string {
	h := state.NewHasher("bivouac.readers.nemo_asr.v1")
	for i := range s.set.Len() {
		h.Bytes(s.text(int64(i)))
		h.Int(s.indices[i])
		for _, v := range s.parts[i] {
			h.Int(int64(math.Float64bits(v)))
		}
		h.Int(s.set.Size(i))
		h.String(datafs.Base(s.set.Path(i)))
	}
	return h.Sum()
}

func (s *nemoSource) text(id int64) []byte {
	start := int64(0)
	if id > 0 {
		start = s.textEnds[id-1]
	}
	return s.texts[start:s.textEnds[id]]
}

func (s *nemoSource) Info() Info { return s.info }

func (s *nemoSource) Size(id int64) int64 { return s.set.Size(int(id)) }

// Name implements Named.
func (s *nemoSource) Name(id int64) string { return s.set.Path(int(id)) }

func (s *nemoSource) Describe(id int64) string { return "file " + s.set.Path(int(id)) }

func (s *nemoSource) Close() error { return s.set.Close() }

func (s *nemoSource) Fetch(ctx context.Context, ids []int64, dst *op.Block) error {
	return Each(ctx, ids, dst, func(id int64, i int) error { return s.fetch(ctx, id, i, dst) })
}

func (s *nemoSource) fetch(ctx context.Context, id int64, at int, dst *op.Block) error {
	b, err := s.set.ReadFile(ctx, int(id), dst.Limits().MaxBytes)
	if err != nil {
		return err
	}
	d, ok := s.decoders.Get().(*audio.Decoder)
	if !ok {
		d = new(audio.Decoder)
	}
	defer s.decoders.Put(d)
	a, err := s.parse(d, b, dst.Limits().MaxBytes)
	if err == nil {
		err = s.cut(a, id)
	}
	if err != nil {
		return err
	}
	rate := a.Rate() // of the file, also if the sound is resampled
	if err := s.audio(a, at, dst); err != nil {
		return err
	}
	next := 1
	if s.hasRate {
		if err := putOne(dst.Out(next, at), float32(rate)); err != nil {
			return err
		}
		next++
	}
	if s.hasText {
		text := s.text(id)
		if err := output(dst, next, at, text, len(text)); err != nil {
			return err
		}
		next++
	}
	if s.id {
		return put(dst.Out(next, at, 1), s.indices[id:id+1])
	}
	return nil
}

// parse decodes an audio file and refuses what is not done here.
func (s *nemoSource) parse(d *audio.Decoder, b []byte, limit int64) (audio.Sound, error) {
	unsupported := func(want, got, remedy string) error {
		return &errs.Error{Kind: errs.Unsupported, Subject: "audio", Want: want, Got: got, Remedy: remedy}
	}
	a, err := d.Open(b, limit)
	switch {
	case err != nil:
		return nil, err
	case s.dtype != tensor.Float32 && a.Floats():
		return nil, unsupported("integers for dtype "+s.dtype.String(), "floats", "use dtype float32")
	case s.dtype != tensor.Float32 && s.downmix && a.Channels() > 1:
		return nil, unsupported("one channel for dtype "+s.dtype.String(), fmt.Sprint(a.Channels()),
			"use dtype float32, or downmix false")
	}
	return a, nil
}

// cut leaves the part of the audio that the entry names.
func (s *nemoSource) cut(a audio.Sound, id int64) error {
	offset, duration := s.parts[id][0], s.parts[id][1]
	if offset == 0 && duration < 0 {
		return nil
	}
	rate, frames := float64(a.Rate()), float64(a.Frames())
	first := math.Trunc(offset * rate)
	if first > frames {
		return &errs.Error{Kind: errs.Invalid, Subject: "offset",
			Want: fmt.Sprintf("at most %v s, the length of the file", frames/rate),
			Got:  fmt.Sprint(offset), Remedy: "correct the manifest"}
	}
	n := frames - first
	if duration >= 0 {
		n = min(n, math.Trunc(duration*rate))
	}
	a.Cut(int(first), int(n))
	return nil
}

// audio writes the samples.
func (s *nemoSource) audio(a audio.Sound, at int, dst *op.Block) error {
	shape, err := s.converter.Shape(a, s.rate)
	if err != nil {
		return err
	}
	scratch := func(n int) []float32 { return op.Scratch[float32](dst, n) }
	return s.converter.Convert(dst.Out(0, at, shape...), a, s.rate, scratch)
}
