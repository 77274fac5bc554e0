#include "model_stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return model_fuzz(&model_openai, data, size);
}
