package video

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/bivouac-ml/bivouac/codec/raster"
	"github.com/bivouac-ml/bivouac/codec/video"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

const inputName = "experimental.inputs.video"

// InputOptions describe an Input.
type InputOptions struct {
	SequenceLength int // frames of a sequence
	BatchSize      int // sequences of a batch
	// Pad fills the last sequence of a video with black frames. By default it is shorter.
	Pad bool
	// Blocking makes a pipeline wait for a video that another goroutine feeds. By default a batch for
	// which no video was fed is an error.
	Blocking bool
	Limits   raster.Limits // of a frame, and of the bytes of a batch
}

// Input cuts videos that it is fed into batches of sequences, one video after the other. It decodes
// no more than it returns, so a video may be far longer than memory. A batch never holds sequences
// of two videos; the last batch of a video may be smaller. It is DALI's experimental.inputs.video.
//
// The state of an Input is a place in a video. After SetState the same video must be fed again, and
// then the videos that come behind it.
type Input struct {
	options InputOptions

	feeding sync.Mutex // guards queue and fed
	queue   [][]byte
	fed     chan struct{} // closed when a video is fed

	moving  sync.Mutex // guards what is below
	at      place
	video   *video.Video
	decoder *video.Decoder
}

// place is the state of an Input.
type place struct {
	Version  int    `json:"version"`
	Length   int    `json:"sequence_length"`
	Batch    int    `json:"batch_size"`
	Pad      bool   `json:"pad"`
	Videos   int64  `json:"videos"`          // videos that have ended
	Frame    int    `json:"frame"`           // the next frame of the video; 0 if none has begun
	Size     int    `json:"bytes,omitempty"` // of the video, if one has begun
	Checksum string `json:"sha256,omitempty"`
}

const placeVersion = 1

// NewInput returns an Input that was fed nothing.
func NewInput(o InputOptions) (*Input, error) {
	for _, n := range []struct {
		name  string
		value int
	}{{"sequence_length", o.SequenceLength}, {"batch_size", o.BatchSize}} {
		if n.value < 1 {
			return nil, &errs.Error{Kind: errs.Invalid, Op: inputName, Subject: "argument " + n.name, Want: "at least 1",
				Got: fmt.Sprint(n.value)}
		}
	}
	return &Input{options: o, fed: make(chan struct{}),
		at: place{Version: placeVersion, Length: o.SequenceLength, Batch: o.BatchSize, Pad: o.Pad}}, nil
}

// Feed queues the bytes of a video: one sample of type uint8 with one axis. They must not change
// until the last batch of the video was returned. Any goroutine may call it.
func (x *Input) Feed(samples []tensor.Tensor) error {
	if len(samples) != 1 {
		return &errs.Error{Kind: errs.Invalid, Op: inputName, Want: "one video", Got: fmt.Sprintf("%d samples", len(samples))}
	}
	t := samples[0]
	if t.DType != tensor.Uint8 || len(t.Shape) != 1 || len(t.Data) == 0 {
		return &errs.Error{Kind: errs.Invalid, Op: inputName, Want: "the bytes of a video: uint8 with one axis",
			Got: t.String()}
	}
	x.feeding.Lock()
	defer x.feeding.Unlock()
	x.queue = append(x.queue, t.Data)
	close(x.fed)
	x.fed = make(chan struct{})
	return nil
}

// Has reports whether there is data for a batch.
func (x *Input) Has() bool {
	x.moving.Lock()
	begun := x.video != nil
	x.moving.Unlock()
	x.feeding.Lock()
	defer x.feeding.Unlock()
	return begun || len(x.queue) > 0
}

// Blocks reports whether ReadBatch waits for data.
func (x *Input) Blocks() bool { return x.options.Blocking }

// take returns the video that was fed first. It waits for one if Options say so.
func (x *Input) take(ctx context.Context) ([]byte, error) {
	for {
		x.feeding.Lock()
		if len(x.queue) > 0 {
			data := x.queue[0]
			x.queue = append(x.queue[:0], x.queue[1:]...)
			x.feeding.Unlock()
			return data, nil
		}
		fed := x.fed
		x.feeding.Unlock()
		if !x.options.Blocking {
			return nil, &errs.Error{Kind: errs.Invalid, Op: inputName, Want: "a video that was fed", Got: "no video",
				Remedy: "feed a video before each batch for which there are no frames"}
		}
		select {
		case <-fed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Next returns the sequences of the next batch. A video that cannot be decoded is left out after
// its error.
func (x *Input) Next(ctx context.Context) ([]tensor.Tensor, error) {
	x.moving.Lock()
	begun := x.video != nil
	x.moving.Unlock()
	var data []byte
	if !begun {
		var err error
		if data, err = x.take(ctx); err != nil {
			return nil, err
		}
	}
	x.moving.Lock()
	defer x.moving.Unlock()
	if x.video == nil {
		if err := x.begin(ctx, data); err != nil {
			return nil, err
		}
	}
	batch, err := x.read(ctx)
	if err != nil && ctx.Err() == nil {
		x.end()
	}
	return batch, err
}

// begin opens a video. After SetState it must be the video in which the state is.
func (x *Input) begin(ctx context.Context, data []byte) error {
	sum := sha256.Sum256(data)
	checksum := hex.EncodeToString(sum[:])
	if x.at.Frame > 0 && (len(data) != x.at.Size || checksum != x.at.Checksum) {
		return &errs.Error{Kind: errs.Mismatch, Op: inputName, Subject: fmt.Sprintf("video %d", x.at.Videos),
			Want: fmt.Sprintf("the video in which the state is, at frame %d: %d bytes with SHA-256 %s",
				x.at.Frame, x.at.Size, x.at.Checksum),
			Got: fmt.Sprintf("%d bytes with %s", len(data), checksum), Remedy: "feed the same video again"}
	}
	v, err := video.OpenBytes(ctx, data, video.Options{Limits: x.options.Limits, Keep: 1})
	if err != nil {
		if ctx.Err() == nil {
			x.at.Videos++
			return errs.Wrap(inputName, fmt.Sprintf("video %d", x.at.Videos-1), err)
		}
		x.feeding.Lock()
		x.queue = append([][]byte{data}, x.queue...) // for the next try
		x.feeding.Unlock()
		return err
	}
	if x.at.Frame > 0 && x.at.Frame >= v.Frames() {
		v.Close() //nolint:errcheck // nothing was written
		return &errs.Error{Kind: errs.Mismatch, Op: inputName, Subject: fmt.Sprintf("video %d", x.at.Videos),
			Want: fmt.Sprintf("a video with frame %d", x.at.Frame), Got: fmt.Sprintf("%d frames", v.Frames()),
			Remedy: "the state is damaged, or another version of ffmpeg wrote it"}
	}
	x.video, x.decoder, x.at.Size, x.at.Checksum = v, v.NewDecoder(), len(data), checksum
	return nil
}

// read decodes the sequences of a batch.
func (x *Input) read(ctx context.Context) ([]tensor.Tensor, error) {
	v, o := x.video, &x.options
	left := v.Frames() - x.at.Frame
	n := min(o.BatchSize, (left+o.SequenceLength-1)/o.SequenceLength)
	size := v.Width * v.Height * 3
	if err := o.Limits.CheckBytes(inputName, "a batch", int64(n)*int64(o.SequenceLength)*int64(size)); err != nil {
		return nil, err
	}
	batch := make([]tensor.Tensor, n)
	frame := x.at.Frame
	for i := range batch {
		length := min(o.SequenceLength, v.Frames()-frame)
		whole := length
		if o.Pad {
			whole = o.SequenceLength
		}
		batch[i] = tensor.New(tensor.Uint8, whole, v.Height, v.Width, 3)
		batch[i].Layout = "FHWC"
		for k := range length {
			if err := x.decoder.Decode(ctx, frame, batch[i].Data[k*size:(k+1)*size]); err != nil {
				return nil, errs.Wrap(inputName, fmt.Sprintf("video %d", x.at.Videos), err)
			}
			frame++
		}
	}
	if x.at.Frame = frame; frame == v.Frames() {
		x.end()
	}
	return batch, nil
}

// end goes to the next video.
func (x *Input) end() {
	x.close()
	x.at.Videos++
	x.at.Frame, x.at.Size, x.at.Checksum = 0, 0, ""
}

func (x *Input) close() {
	if x.video != nil {
		x.decoder.Close() //nolint:errcheck // nothing was written
		x.video.Close()   //nolint:errcheck // nothing was written
		x.video, x.decoder = nil, nil
	}
}

// Close drops what was fed, and ends the process that decodes.
func (x *Input) Close() error {
	x.moving.Lock()
	defer x.moving.Unlock()
	x.close()
	x.at.Frame, x.at.Size, x.at.Checksum = 0, 0, ""
	x.feeding.Lock()
	defer x.feeding.Unlock()
	x.queue = nil
	return nil
}

// AppendState implements state.Stateful.
func (x *Input) AppendState(dst []byte) ([]byte, error) {
	x.moving.Lock()
	defer x.moving.Unlock()
	at := x.at
	if at.Frame == 0 {
		at.Size, at.Checksum = 0, ""
	}
	b, err := json.Marshal(at)
	return append(dst, b...), err
}

// SetState implements state.Stateful. It drops what was fed.
func (x *Input) SetState(b []byte) error {
	var at place
	bad := func(want, got string) error {
		return &errs.Error{Kind: errs.Mismatch, Op: inputName, Subject: "state", Want: want, Got: got,
			Remedy: "use the state of an input with the same options"}
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&at); err != nil {
		return &errs.Error{Kind: errs.Corrupt, Op: inputName, Subject: "state", Want: "a place in a video", Err: err}
	}
	o := &x.options
	switch {
	case at.Version != placeVersion:
		return bad(fmt.Sprintf("version %d", placeVersion), fmt.Sprint(at.Version))
	case at.Length != o.SequenceLength || at.Batch != o.BatchSize || at.Pad != o.Pad:
		return bad(fmt.Sprintf("batches of %d sequences of %d frames, padded: %v", o.BatchSize, o.SequenceLength, o.Pad),
			fmt.Sprintf("%d of %d frames, padded: %v", at.Batch, at.Length, at.Pad))
	case at.Frame < 0 || at.Videos < 0 || at.Size < 0 || (at.Frame > 0) != (at.Checksum != "") ||
		at.Frame%o.SequenceLength != 0 || strings.Trim(at.Checksum, "0123456789abcdef") != "":
		return &errs.Error{Kind: errs.Corrupt, Op: inputName, Subject: "state", Want: "a place in a video", Got: string(b)}
	}
	x.moving.Lock()
	defer x.moving.Unlock()
	x.close()
	x.at = at
	x.feeding.Lock()
	defer x.feeding.Unlock()
	x.queue = nil
	return nil
}
