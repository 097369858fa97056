#include "textflag.h"

// The options of DMB and DSB, as in the CRm field of the instruction.
#define ISH $0xb
#define ST $0xe
#define SY $0xf

TEXT ·storePlain(SB), NOSPLIT, $0-12
	MOVD p+0(FP), R0
	MOVWU v+8(FP), R1
	MOVW R1, (R0)
	RET

TEXT ·storeISH(SB), NOSPLIT, $0-12
	MOVD p+0(FP), R0
	MOVWU v+8(FP), R1
	MOVW R1, (R0)
	DMB ISH
	RET

TEXT ·storeST(SB), NOSPLIT, $0-12
	MOVD p+0(FP), R0
	MOVWU v+8(FP), R1
	MOVW R1, (R0)
	DSB ST
	RET

TEXT ·storeSY(SB), NOSPLIT, $0-12
	MOVD p+0(FP), R0
	MOVWU v+8(FP), R1
	MOVW R1, (R0)
	DSB SY
	RET

TEXT ·loadPlain(SB), NOSPLIT, $0-12
	MOVD p+0(FP), R0
	MOVWU (R0), R1
	MOVW R1, ret+8(FP)
	RET

TEXT ·loadISH(SB), NOSPLIT, $0-12
	MOVD p+0(FP), R0
	MOVWU (R0), R1
	DMB ISH
	MOVW R1, ret+8(FP)
	RET

TEXT ·loadST(SB), NOSPLIT, $0-12
	MOVD p+0(FP), R0
	MOVWU (R0), R1
	DSB ST
	MOVW R1, ret+8(FP)
	RET

TEXT ·loadSY(SB), NOSPLIT, $0-12
	MOVD p+0(FP), R0
	MOVWU (R0), R1
	DSB SY
	MOVW R1, ret+8(FP)
	RET
