package encoder

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/fencesim/fencesim/fencetest"
)

func TestThreeLayers(t *testing.T) {
	fencetest.Check(t, Encode(3), "ideal", "lag-0")
}

func TestAnyNumberOfLayers(t *testing.T) {
	layers := rapid.Map(rapid.IntRange(2, 9), Encode)
	fencetest.Property(t, layers, "lag-0")
}
