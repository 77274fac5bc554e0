/* fixture.h: the parts of the conformance fixture (fixture_server.c). */
#pragma once

#include <stddef.h>
#include <toolwire/toolwire.h>

typedef struct Fixture {
    TwServer *server;
    bool has_tool;   /* test_dynamic_tool is there */
    bool has_prompt; /* test_dynamic_prompt is there */
} Fixture;

/* A picture of one red pixel, and a sound of no length. */
extern const unsigned char fixture_png[];
extern const size_t fixture_png_n;
extern const unsigned char fixture_wav[];
extern const size_t fixture_wav_n;

/* Each adds what its file has. TW_OK or the first TW_ERROR_*. */
int fixture_add_tools(Fixture *fixture);
int fixture_add_slow_tools(Fixture *fixture);
int fixture_add_asking(Fixture *fixture);
int fixture_add_resources(Fixture *fixture);
int fixture_add_prompts(Fixture *fixture);
int fixture_add_tasks(Fixture *fixture);

/* Adds tools that have no input schema of their own, or one, and no description of their own; user
 * is the fixture. */
int fixture_add_all(Fixture *fixture, const TwTool *tools, size_t n);

/* Goes on with the call on another thread, where it may wait. */
void fixture_work(TwCall *call, void (*run)(TwCall *call));
void fixture_wait_ms(long ms);
