; Worn filters of machines are exchanged: power off, cover off, old one out, new one greased and in.
(define (domain workshop)
  (:requirements :strips :typing)
  (:types thing machine locker - object tool filter screw - thing)
  (:constants driver puller oilcan - tool)
  (:predicates (shut ?l - locker) (ajar ?l - locker) (inside ?x - thing ?l - locker)
               (got ?x - thing) (running ?m - machine) (stopped ?m - machine)
               (screwed ?s - screw ?m - machine) (unscrewed ?s - screw ?m - machine)
               (covered ?m - machine) (bare ?m - machine) (fitted ?f - filter ?m - machine)
               (vacant ?m - machine) (dry ?f - filter) (greased ?f - filter))
  (:action unlatch
    :parameters (?l - locker)
    :precondition (shut ?l)
    :effect (and (ajar ?l) (not (shut ?l))))
  (:action latch
    :parameters (?l - locker)
    :precondition (ajar ?l)
    :effect (and (shut ?l) (not (ajar ?l))))
  (:action take
    :parameters (?x - thing ?l - locker)
    :precondition (and (inside ?x ?l) (ajar ?l))
    :effect (and (got ?x) (not (inside ?x ?l))))
  (:action stow
    :parameters (?x - thing ?l - locker)
    :precondition (and (got ?x) (ajar ?l))
    :effect (and (inside ?x ?l) (not (got ?x))))
  (:action stop
    :parameters (?m - machine)
    :precondition (running ?m)
    :effect (and (stopped ?m) (not (running ?m))))
  (:action start
    :parameters (?m - machine ?s - screw)
    :precondition (and (stopped ?m) (covered ?m) (screwed ?s ?m))
    :effect (and (running ?m) (not (stopped ?m))))
  (:action unscrew
    :parameters (?s - screw ?m - machine)
    :precondition (and (got driver) (stopped ?m) (covered ?m) (screwed ?s ?m))
    :effect (and (unscrewed ?s ?m) (not (screwed ?s ?m))))
  (:action screw
    :parameters (?s - screw ?m - machine)
    :precondition (and (got driver) (covered ?m) (unscrewed ?s ?m))
    :effect (and (screwed ?s ?m) (not (unscrewed ?s ?m))))
  (:action uncover
    :parameters (?m - machine ?s - screw)
    :precondition (and (covered ?m) (unscrewed ?s ?m))
    :effect (and (bare ?m) (not (covered ?m))))
  (:action cover
    :parameters (?m - machine ?f - filter)
    :precondition (and (bare ?m) (fitted ?f ?m))
    :effect (and (covered ?m) (not (bare ?m))))
  (:action pull
    :parameters (?f - filter ?m - machine)
    :precondition (and (got puller) (bare ?m) (fitted ?f ?m))
    :effect (and (got ?f) (vacant ?m) (not (fitted ?f ?m))))
  (:action grease
    :parameters (?f - filter)
    :precondition (and (got oilcan) (got ?f) (dry ?f))
    :effect (and (greased ?f) (not (dry ?f))))
  (:action push
    :parameters (?f - filter ?m - machine)
    :precondition (and (got ?f) (greased ?f) (bare ?m) (vacant ?m))
    :effect (and (fitted ?f ?m) (not (got ?f)) (not (vacant ?m)))))
