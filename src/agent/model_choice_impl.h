/* agent/model_choice_impl.h: what the files of agent/model_choice share. */
#pragma once

#include "agent/model_choice.h"
#include "agent/model_impl.h"
#include "base/arena.h"
#include "base/bytes.h"
#include "io/fetch.h"
#include "io/knock.h"

typedef struct ChoiceModel ChoiceModel;
typedef struct ChoiceRun ChoiceRun;

struct ChoiceModel {
    Model model; /* first */
    ModelConfig config;
    Model *inner; /* NULL: not chosen yet */
    Arena arena;  /* texts of the settings */
    ModelSettings settings;
    size_t at; /* the service that is asked */
    bool is_choosing;
    IoTimer *timer; /* begins, from the loop */
    IoKnock *knock;
    IoFetcher *fetcher;
    IoFetch *fetch;
    unsigned status;
    Bytes list; /* what came of the list of models */
    ChoiceRun *first;
};

/* A request that was there before the model. */
struct ChoiceRun {
    ModelRun run; /* first */
    ChoiceModel *model;
    ChoiceRun *next;
    ChoiceRun *prev;
    ModelSink sink;
    Arena arena;
    ModelRequest request; /* in the arena */
    ModelRun *inner;      /* NULL: waits */
    bool is_lost;         /* there is no model for it: it is to fail */
};

/* ---- model_choice_run.c ---- */

/* Keeps a copy of the request. 0, -ENOMEM. */
int choice_run_new(ChoiceRun **ret, ChoiceModel *model, const ModelRequest *request,
                   const ModelSink *sink);
void choice_run_release(ChoiceRun *run);

/* The model is known: all that wait are started. */
void choice_start_waiting(ChoiceModel *model);

/* It is not to be had: all that wait fail with these words. */
void choice_fail_waiting(ChoiceModel *model, const char *words);

/* ---- model_choice_ask.c ---- */

/* Asks the services from the first on; ends in choice_decide or choice_fail_waiting, perhaps at
 * once. */
void choice_ask(ChoiceModel *model);

/* ---- model_choice.c ---- */

/* Takes inner. */
void choice_decide(ChoiceModel *model, Model *inner);
