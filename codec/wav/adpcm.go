package wav

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/codec/audio"
	"github.com/bivouac-ml/bivouac/codec/internal/pcm"
)

// blocks reads the size of blocks of ADPCM, and the coefficients of Microsoft's coding.
func (f *format) blocks(b []byte) error {
	header := 4 * f.channels
	if f.encoding == encodedMS {
		header = 7 * f.channels
	}
	if f.channels > 2 || f.blockBytes < header+f.channels || f.encoding == encodedIMA &&
		(f.blockBytes-header)%header != 0 {
		return damaged("one or two channels and whole blocks of ADPCM", fmt.Sprintf("%d channels, blocks of %d bytes",
			f.channels, f.blockBytes))
	}
	f.blockSize = (f.blockBytes-header)*2/f.channels + 1
	if f.encoding == encodedIMA {
		return nil
	}
	f.blockSize++
	if len(b) < 22 || len(b) < 22+4*int(le.Uint16(b[20:])) {
		return damaged("a chunk fmt with coefficients", fmt.Sprintf("%d bytes", len(b)))
	}
	for i := range int(le.Uint16(b[20:])) {
		f.coefficients = append(f.coefficients, [2]int32{int32(int16(le.Uint16(b[22+4*i:]))),
			int32(int16(le.Uint16(b[24+4*i:])))})
	}
	return nil
}

// adpcm decodes all blocks.
func (f *format) adpcm(data []byte) (audio.Sound, error) {
	if len(data)%f.blockBytes != 0 {
		return nil, damaged(fmt.Sprintf("blocks of %d bytes", f.blockBytes), fmt.Sprintf("%d bytes", len(data)))
	}
	frames := len(data) / f.blockBytes * f.blockSize
	out := make([]byte, 0, 2*frames*f.channels)
	samples := make([]int16, f.blockSize*f.channels)
	for ; len(data) > 0; data = data[f.blockBytes:] {
		block := data[:f.blockBytes]
		if f.encoding == encodedIMA {
			if err := f.ima(samples, block); err != nil {
				return nil, err
			}
		} else if err := f.microsoft(samples, block); err != nil {
			return nil, err
		}
		for _, v := range samples {
			out = le.AppendUint16(out, uint16(v))
		}
	}
	return pcm.New(f.channels, f.rate, 16, pcm.Signed, le, out), nil
}

var imaSteps = [89]int32{
	7, 8, 9, 10, 11, 12, 13, 14, 16, 17, 19, 21, 23, 25, 28, 31, 34, 37, 41, 45, 50, 55, 60, 66, 73, 80, 88, 97, 107, 118,
	130, 143, 157, 173, 190, 209, 230, 253, 279, 307, 337, 371, 408, 449, 494, 544, 598, 658, 724, 796, 876, 963, 1060, 1166,
	1282, 1411, 1552, 1707, 1878, 2066, 2272, 2499, 2749, 3024, 3327, 3660, 4026, 4428, 4871, 5358, 5894, 6484, 7132, 7845,
	8630, 9493, 10442, 11487, 12635, 13899, 15289, 16818, 18500, 20350, 22385, 24623, 27086, 29794, 32767,
}

var imaMoves = [8]int{-1, -1, -1, -1, 2, 4, 6, 8}

func clip(v int32) int32 { return max(-1<<15, min(v, 1<<15-1)) }

// ima decodes a block of IMA's coding: for each channel a start, then eight samples of each in
// turn.
func (f *format) ima(to []int16, block []byte) error {
	n := f.channels
	var last [2]int32
	var step [2]int
	for c := range n {
		last[c], step[c] = int32(int16(le.Uint16(block[4*c:]))), int(block[4*c+2])
		if step[c] >= len(imaSteps) {
			return damaged(fmt.Sprintf("a step below %d", len(imaSteps)), fmt.Sprint(step[c]))
		}
		to[c] = int16(last[c])
	}
	codes := block[4*n:]
	for i, v := range codes {
		c := i / 4 % n
		at := 1 + (i/(4*n)*4+i%4)*2
		for half, code := range [2]byte{v & 15, v >> 4} {
			size := imaSteps[step[c]]
			d := size >> 3
			if code&1 != 0 {
				d += size >> 2
			}
			if code&2 != 0 {
				d += size >> 1
			}
			if code&4 != 0 {
				d += size
			}
			if code&8 != 0 {
				d = -d
			}
			last[c] = clip(last[c] + d)
			step[c] = max(0, min(step[c]+imaMoves[code&7], len(imaSteps)-1))
			to[(at+half)*n+c] = int16(last[c])
		}
	}
	return nil
}

var microsoftScale = [16]int32{230, 230, 230, 230, 307, 409, 512, 614, 768, 614, 512, 409, 307, 230, 230, 230}

// microsoft decodes a block of Microsoft's coding.
func (f *format) microsoft(to []int16, block []byte) error {
	n := f.channels
	var weights [2][2]int32
	var delta, one, two [2]int32 // two: the sample before the last
	for c := range n {
		i := int(block[c])
		if i >= len(f.coefficients) {
			return damaged(fmt.Sprintf("a predictor below %d", len(f.coefficients)), fmt.Sprint(i))
		}
		at := n + 2*c
		weights[c], delta[c] = f.coefficients[i], int32(int16(le.Uint16(block[at:])))
		one[c], two[c] = int32(int16(le.Uint16(block[at+2*n:]))), int32(int16(le.Uint16(block[at+4*n:])))
		to[c], to[n+c] = int16(two[c]), int16(one[c])
	}
	at := 2 * n
	for _, v := range block[7*n:] {
		for _, code := range [2]byte{v >> 4, v & 15} {
			c := at % n
			guess := (one[c]*weights[c][0] + two[c]*weights[c][1]) >> 8
			d := int32(code)
			if d >= 8 {
				d -= 16
			}
			next := clip(guess + d*delta[c])
			delta[c] = max(16, int32(int16(microsoftScale[code]*delta[c]>>8)))
			two[c], one[c] = one[c], next
			to[at] = int16(next)
			at++
		}
	}
	return nil
}
