package image

import (
	"testing"

	"github.com/bivouac-ml/bivouac/proof/dalivec"
)

// TestVectors holds the operators against what DALI computed.
func TestVectors(t *testing.T) {
	for group, ops := range map[string][]string{
		"crop":   {"crop", "slice"},
		"cmn":    {"crop_mirror_normalize"},
		"resize": {"resize", "random_resized_crop", "resize_crop_mirror", "tensor_resize"},
		"tensor": {"flip", "erase"},
		"filter": {"gaussian_blur"},
		"color":  {"brightness", "contrast", "brightness_contrast", "color_twist", "hsv", "hue", "saturation"},
	} {
		t.Run(group, func(t *testing.T) { dalivec.Run(t, group, ops...) })
	}
}
