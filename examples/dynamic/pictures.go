package main

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"math"
	"os"
	"path/filepath"
)

const pictures = 12

// writePictures makes JPEG files of several sizes below dir, in two classes.
func writePictures(dir string) error {
	for i := range pictures {
		class := filepath.Join(dir, [2]string{"rings", "waves"}[i%2])
		if err := os.MkdirAll(class, 0o777); err != nil {
			return err
		}
		var b bytes.Buffer
		if err := jpeg.Encode(&b, picture(i), &jpeg.Options{Quality: 85}); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(class, fmt.Sprintf("%02d.jpg", i)), b.Bytes(), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// picture draws rings or waves in a colour of their own.
func picture(i int) image.Image {
	width, height := 120+8*i, 100+6*(i%5)
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	hue := 2 * math.Pi * float64(i) / pictures
	for y := range height {
		for x := range width {
			at := float64(x+i*y) / 9
			if i%2 == 0 {
				at = math.Hypot(float64(x-width/2), float64(y-height/2)) / 5
			}
			light := 0.55 + 0.4*math.Sin(at)
			channel := func(shift float64) uint8 { return uint8(255 * light * (0.5 + 0.5*math.Cos(hue+shift))) }
			img.Set(x, y, color.RGBA{channel(0), channel(2.1), channel(4.2), 255})
		}
	}
	return img
}
